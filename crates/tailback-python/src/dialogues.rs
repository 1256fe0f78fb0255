//! Dialogues for Python: scripts of packetdrill and our own steps as dicts and lists, without any text that must be
//! parsed.
//!
//! Times are whole nanoseconds, and the keys are the names of the fields of `tailback_transport::dialogues`.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tailback_transport::dialogues::packetdrill::{
    self, Call, CallValue, Command, CommandKind, EcnField, Expr, Packet, Statement, Step, TcpOption, What, When,
};
use tailback_transport::dialogues::{Fault, steps};

create_exception!(
    tailback._core,
    DialogueFault,
    PyValueError,
    "A text of a dialogue that cannot be read: `line`, `word`, `what` are its arguments."
);

fn fault(f: Fault) -> PyErr {
    DialogueFault::new_err((f.line, f.word, f.what))
}

/// Read a script of packetdrill. Raises DialogueFault.
#[pyfunction]
pub fn read_packetdrill<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let script = packetdrill::read(text).map_err(fault)?;
    let rows = script.options.iter().map(|o| (o.line, &o.name, &o.value));
    let dict = PyDict::new(py);
    dict.set_item("options", rows.collect::<Vec<_>>())?;
    let steps = script.steps.iter().map(|s| step(py, s));
    dict.set_item("steps", steps.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// Read a file of commands that a script includes. Raises DialogueFault.
#[pyfunction]
pub fn read_packetdrill_commands<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let commands = packetdrill::read_commands(text).map_err(fault)?;
    commands.iter().map(|c| command(py, c)).collect()
}

fn step<'py>(py: Python<'py>, s: &Step) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("line", s.line)?;
    dict.set_item("text", &s.text)?;
    let (clock, from, to) = match s.when {
        When::At { from, to } => ("at", from, to),
        When::After { from, to } => ("after", from, to),
        When::Any => ("any", 0, 0),
    };
    dict.set_item("clock", clock)?;
    dict.set_item("from_ns", from)?;
    dict.set_item("to_ns", to)?;
    match &s.what {
        What::Arrives(p) => dict.set_item("arrives", packet(py, p)?)?,
        What::Sends(p) => dict.set_item("sends", packet(py, p)?)?,
        What::Call(c) => dict.set_item("call", call(py, c)?)?,
        What::Commands(all) => {
            let rows = all.iter().map(|c| command(py, c));
            dict.set_item("commands", rows.collect::<PyResult<Vec<_>>>()?)?;
        }
        What::Code(all) => {
            let rows = all.iter().map(|s| statement(py, s));
            dict.set_item("code", rows.collect::<PyResult<Vec<_>>>()?)?;
        }
    }
    Ok(dict)
}

fn packet<'py>(py: Python<'py>, p: &Packet) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("flags", &p.flags)?;
    let ecn = p.ecn.map(|e| match e {
        EcnField::NotEct => "not-ect",
        EcnField::Ect0 => "ect0",
        EcnField::Ect1 => "ect1",
        EcnField::Ce => "ce",
        EcnField::Ect01 => "ect01",
    });
    dict.set_item("ecn", ecn)?;
    dict.set_item("seq", p.seq)?;
    dict.set_item("payload", p.payload)?;
    dict.set_item("ack", p.ack)?;
    dict.set_item("window", p.window)?;
    dict.set_item("any_options", p.options.is_none())?;
    for option in p.options.iter().flatten() {
        match option {
            TcpOption::Nop | TcpOption::Eol => {}
            TcpOption::Mss(n) => dict.set_item("mss", n)?,
            TcpOption::Scale(n) => dict.set_item("scale", n)?,
            TcpOption::SackPermitted => dict.set_item("sack_permitted", true)?,
            TcpOption::Sack(blocks) => dict.set_item("sack", blocks.clone())?,
            TcpOption::Stamps { value, echo } => dict.set_item("stamps", (value, echo))?,
            TcpOption::Counts(fields) => dict.set_item("counts", fields.clone())?,
        }
    }
    Ok(dict)
}

fn call<'py>(py: Python<'py>, c: &Call) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &c.name)?;
    let arguments = c.arguments.iter().map(|v| value(py, v));
    dict.set_item("arguments", arguments.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("result", value(py, &c.result)?)?;
    dict.set_item("error", &c.error)?;
    dict.set_item("returns_ns", c.returns)?;
    Ok(dict)
}

/// A number or text as it is, `...` as None, constants as a tuple, lists as lists, fields as a dict.
fn value<'py>(py: Python<'py>, v: &CallValue) -> PyResult<Bound<'py, PyAny>> {
    let all = |values: &[CallValue]| values.iter().map(|v| value(py, v)).collect::<PyResult<Vec<_>>>();
    Ok(match v {
        CallValue::Any => py.None().into_bound(py),
        CallValue::Whole(n) => n.into_pyobject(py)?.into_any(),
        CallValue::Text(text) => text.into_pyobject(py)?.into_any(),
        CallValue::Names(names) => PyTuple::new(py, names)?.into_any(),
        CallValue::List(values) => PyList::new(py, all(values)?)?.into_any(),
        CallValue::Fields(fields) => {
            let dict = PyDict::new(py);
            for (name, inside) in fields {
                dict.set_item(name, value(py, inside)?)?;
            }
            dict.into_any()
        }
        CallValue::Made(name, values) => {
            let d = PyDict::new(py);
            d.set_item(format!("{name}()"), all(values)?)?;
            d.into_any()
        }
    })
}

fn command<'py>(py: Python<'py>, c: &Command) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("line", c.line)?;
    dict.set_item("text", &c.text)?;
    match &c.kind {
        CommandKind::Set { name, value } => dict.set_item("set", (name, value))?,
        CommandKind::Include(path) => dict.set_item("include", path)?,
        CommandKind::Route(words) => dict.set_item("route", words)?,
        CommandKind::Qdisc(words) => dict.set_item("qdisc", words)?,
        CommandKind::Nothing => {}
    }
    Ok(dict)
}

fn statement<'py>(py: Python<'py>, s: &Statement) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match s {
        Statement::Assert { line, text, holds } => {
            dict.set_item("line", line)?;
            dict.set_item("text", text)?;
            dict.set_item("value", expr(py, holds)?)?;
        }
        Statement::Let { line, name, value } => {
            dict.set_item("line", line)?;
            dict.set_item("name", name)?;
            dict.set_item("value", expr(py, value)?)?;
        }
        Statement::Print => {}
    }
    Ok(dict)
}

/// A whole number, a name, or a list. The list is an operator and its operands; for a comparison it is operands with
/// operators between them.
fn expr<'py>(py: Python<'py>, e: &Expr) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    match e {
        Expr::Whole(n) => return Ok(n.into_pyobject(py)?.into_any()),
        Expr::Name(name) => return Ok(name.into_pyobject(py)?.into_any()),
        Expr::One(operator, a) => {
            list.append(operator)?;
            list.append(expr(py, a)?)?;
        }
        Expr::Two(operator, a, b) => {
            list.append(operator)?;
            list.append(expr(py, a)?)?;
            list.append(expr(py, b)?)?;
        }
        Expr::Compare(first, others) => {
            list.append("compare")?;
            list.append(expr(py, first)?)?;
            for (operator, other) in others {
                list.append(operator)?;
                list.append(expr(py, other)?)?;
            }
        }
    }
    Ok(list.into_any())
}

/// Read a dialogue of our own language, as far as one end of it is played by hand. Raises DialogueFault.
#[pyfunction]
pub fn read_dialogue<'py>(py: Python<'py>, text: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let steps_read = steps::read(text).map_err(fault)?;
    let mut now = 0;
    steps_read.iter().map(|s| numbered_step(py, s, &mut now)).collect()
}

fn numbered_step<'py>(py: Python<'py>, s: &steps::DialogueStep, now: &mut u64) -> PyResult<Bound<'py, PyDict>> {
    use steps::{Act, Clock, Does, Which};
    let dict = PyDict::new(py);
    match s.when {
        Clock::At(at) => *now = at,
        Clock::After(passed) => {
            *now += passed;
            dict.set_item("after_ns", passed)?;
        }
    }
    dict.set_item("at_ns", *now)?;
    dict.set_item("number", s.line)?;
    dict.set_item("text", &s.text)?;
    let set_what = |what: &str| dict.set_item("what", what);
    let check = |c: &steps::StateCheck, what: &str| {
        set_what(what)?;
        dict.set_item("left", sum(py, &c.left)?)?;
        dict.set_item("name", c.left.names().join(", "))?;
        dict.set_item("words", (c.operator,))?;
        dict.set_item("value", sum(py, &c.value)?)?;
        c.tolerance
            .iter()
            .try_for_each(|t| dict.set_item("tolerance", sum(py, t)?))
    };
    match &s.what {
        _ if s.who == steps::Who::B => return Err(unplayed(s)),
        Does::Do(Act::Write(count)) => {
            set_what("write")?;
            dict.set_item("count", count)?;
        }
        Does::Ack(ack) => {
            set_what("answer")?;
            dict.set_item("count", ack.acked)?;
            dict.set_item("reports", PyTuple::new(py, &ack.reports)?)?;
            dict.set_item("words", PyTuple::new(py, ack.ece.then_some("ece"))?)?;
            dict.set_item("window", ack.window)?;
            dict.set_item("of", ack.of)?;
            dict.set_item("name", if ack.again { "again" } else { "" })?;
        }
        Does::Sends(sends) if !sends.and_more => {
            set_what("sends")?;
            dict.set_item("segments", PyTuple::new(py, &sends.numbers)?)?;
            dict.set_item("words", PyTuple::new(py, &sends.marks)?)?;
            dict.set_item("count", sends.bytes)?;
        }
        Does::Count {
            most,
            number,
            cwr_first,
        } => {
            set_what("sends")?;
            let how = if *most { "at most" } else { "at least" };
            let words = [how].into_iter().chain(cwr_first.then_some("cwr-first"));
            dict.set_item("words", PyTuple::new(py, words.collect::<Vec<_>>())?)?;
            dict.set_item("count", number)?;
        }
        Does::Again(sends) if !sends.and_more && sends.marks.is_empty() && sends.bytes.is_none() => {
            set_what("again")?;
            dict.set_item("segments", PyTuple::new(py, &sends.numbers)?)?;
        }
        Does::Check(c) => check(c, "state")?,
        Does::Wait(c) => check(c, "wait")?,
        Does::Keep { name, value } => {
            set_what("keep")?;
            dict.set_item("name", name)?;
            dict.set_item("value", sum(py, value)?)?;
        }
        Does::Path(p) => {
            set_what("path")?;
            dict.set_item("time_ns", p.round_trip)?;
            dict.set_item("way", (p.each, p.room, p.bucket, p.grid, p.every))?;
        }
        Does::Do(Act::Withdraw) => set_what("withdraw")?,
        Does::Lose { which, times } => {
            set_what("lose")?;
            dict.set_item("segments", data(py, s, which)?)?;
            dict.set_item("count", times)?;
        }
        Does::Mark(Which::All) => {
            set_what("mark")?;
            dict.set_item("words", ("all",))?;
        }
        Does::Mark(which) => {
            set_what("mark")?;
            dict.set_item("segments", data(py, s, which)?)?;
        }
        Does::Late { which, by, more: false } => {
            set_what("late")?;
            dict.set_item("segments", data(py, s, which)?)?;
            dict.set_item("time_ns", by)?;
        }
        _ => return Err(unplayed(s)),
    }
    Ok(dict)
}

/// A step that cannot be played with one end by hand.
fn unplayed(s: &steps::DialogueStep) -> PyErr {
    fault(Fault::new(
        s.line,
        &s.text,
        "this step needs both ends of a connection of ours",
    ))
}

/// The numbers of data segments.
fn data<'py>(py: Python<'py>, s: &steps::DialogueStep, which: &steps::Which) -> PyResult<Bound<'py, PyTuple>> {
    match which {
        steps::Which::Data(numbers) => PyTuple::new(py, numbers),
        steps::Which::Nothing => Ok(PyTuple::empty(py)),
        _ => Err(unplayed(s)),
    }
}

/// A sum of products. Each product has its sign and its factors, which are numbers and names.
fn sum<'py>(py: Python<'py>, value: &steps::Expr) -> PyResult<Bound<'py, PyList>> {
    let products = PyList::empty(py);
    for (sign, factors) in value.products() {
        let list = PyList::new(py, [sign])?;
        for factor in factors {
            match factor {
                Ok(number) => list.append(number)?,
                Err(name) => list.append(name)?,
            }
        }
        products.append(list)?;
    }
    Ok(products)
}
