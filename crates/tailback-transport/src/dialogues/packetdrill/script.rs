//! A script as data.

/// A script: its option lines, then its steps in the order of the text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    pub options: Vec<OptionLine>,
    pub steps: Vec<Step>,
}

/// `--name=value` above the first step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionLine {
    pub line: u32,
    pub name: String,
    pub value: String,
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub line: u32,
    pub when: When,
    pub what: What,
    /// The text of the step, on one line.
    pub text: String,
}

/// When a step happens, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Time since the first step that has a time.
    At { from: u64, to: u64 },
    /// Time since the step before.
    After { from: u64, to: u64 },
    /// At any time: `*`, or commands without a time.
    Any,
}

/// The event of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// `<`: a segment of the far end arrives.
    Arrives(Packet),
    /// `>`: this segment was sent.
    Sends(Packet),
    Call(Call),
    /// A text in backticks.
    Commands(Vec<Command>),
    /// `%{ }%`
    Code(Vec<Statement>),
}

/// A segment. Sequence numbers are relative to the first one of their direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Letters of packetdrill: S, F, R, P, `.`, U, E, W, A. A digit that stands for the three flags of ECN is stored as
    /// their letters.
    pub flags: String,
    pub ecn: Option<EcnField>,
    pub seq: u32,
    pub payload: u32,
    pub ack: Option<u32>,
    /// The value in the header.
    pub window: Option<u32>,
    /// `None` stands for `<...>`: any options.
    pub options: Option<Vec<TcpOption>>,
}

/// The two ECN bits in a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnField {
    NotEct,
    Ect0,
    Ect1,
    Ce,
    /// Either of the two code points.
    Ect01,
}

/// An option of a TCP header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpOption {
    Nop,
    Eol,
    Mss(u32),
    Scale(u32),
    SackPermitted,
    Sack(Vec<(u32, u32)>),
    Stamps {
        value: u32,
        echo: u32,
    },
    /// Counts of accurate ECN in the order of the script: `e0b`, `ceb` and `e1b` with their values.
    Counts(Vec<(&'static str, u32)>),
}

/// A system call with its arguments and its result.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<CallValue>,
    pub result: CallValue,
    /// The name of the error.
    pub error: Option<String>,
    /// The time at which a call that blocks returns, on the scale of the step's time.
    pub returns: Option<u64>,
}

/// An argument or a result.
#[derive(Clone, PartialEq, Debug)]
pub enum CallValue {
    /// `...`
    Any,
    Whole(i64),
    Text(String),
    /// A constant, or several with `|` between them.
    Names(Vec<String>),
    List(Vec<CallValue>),
    /// `{name=value, ...}`. A value without a name is stored with an empty name.
    Fields(Vec<(String, CallValue)>),
    /// `htons(8080)`
    Made(String, Vec<CallValue>),
}

/// A command of the text in backticks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    pub line: u32,
    pub text: String,
    pub kind: CommandKind,
}

/// The supported commands. Each is read as a setting and is never run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandKind {
    /// A value of `sysctl`. Dots separate the parts of its name.
    Set { name: String, value: String },
    /// A file of commands.
    Include(String),
    /// The words after `ip route`.
    Route(Vec<String>),
    /// The words after `tc qdisc`.
    Qdisc(Vec<String>),
    /// A command without effect, because each script has its own network namespace.
    Nothing,
}

/// A statement of a block of code.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    Assert {
        line: u32,
        text: String,
        holds: Expr,
    },
    /// `name = value`, or `name += value`.
    Let {
        line: u32,
        name: String,
        value: Expr,
    },
    /// `print`, which has no effect here.
    Print,
}

/// An expression of whole numbers. A comparison gives 1 or 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Whole(i64),
    Name(String),
    /// `-`, `not`, `~`
    One(&'static str, Box<Expr>),
    /// An operator for sums, products or bits, or an operator that is a word.
    Two(&'static str, Box<Expr>, Box<Expr>),
    /// A chain such as `1 <= x < 3`.
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
}
