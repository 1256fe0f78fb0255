//! Each stack in each situation: a run with an assertion. Prints a table; exit status 1 if an assertion fails. Arguments
//! are files with what was seen of stacks in other languages.

mod digest;
mod situations;

use digest::Summed;
use noq_stack::Noq;
use quinn_stack::Quinn;
use situations::{Situations, Stack};
use smoltcp::socket::tcp::CongestionControl;
use smoltcp_stack::Smoltcp;
use std::path::Path;
use tailback_path::{Endpoint, Pair};

/// Bytes in flight of smoltcp, at most: less than path and queue hold. Version 0.13.1 sends what the receiver's window
/// allows, whatever its congestion control says; with larger buffers it overruns the queue, and gets 2.2 of 10 Mb/s.
const BUFFER: usize = 1 << 16;

fn stack<S, R>(name: &'static str, make: fn(Pair) -> (S, R)) -> Stack
where
    S: Endpoint<Data = Vec<u8>> + 'static,
    R: Endpoint<Data = Vec<u8>> + 'static,
{
    let summed = move |pair| {
        let (first, second) = make(pair);
        (Summed(first), Summed(second))
    };
    Stack { name, hand_over: Box::new(move |scenario, group| scenario.endpoints(group, summed)) }
}

/// What was seen of stacks that are not in Rust, in the order of the situations: files `NAME.seen` with a value a line.
fn from_file(path: &Path, situations: &Situations) -> (String, Vec<Option<f64>>) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let values: Vec<Option<f64>> = text.lines().map(|line| line.parse().ok()).collect();
    assert_eq!(values.len(), situations.situation.len(), "{}: a line for each situation", path.display());
    (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), values)
}

fn main() {
    let stacks = [
        stack::<Quinn, Quinn>("quinn", |p| quinn_stack::pair(p, Default::default())),
        stack::<Noq, Noq>("noq", |p| noq_stack::pair(p, Default::default())),
        stack::<Smoltcp, Smoltcp>("smoltcp", |p| smoltcp_stack::pair(p, CongestionControl::Cubic, BUFFER)),
    ];
    let situations = situations::all();
    let others: Vec<_> = std::env::args().skip(1).map(|path| from_file(path.as_ref(), &situations)).collect();
    let mut failed = false;
    print!("{:<22}", "");
    stacks.iter().map(|s| s.name).chain(others.iter().map(|o| &*o.0)).for_each(|name| print!("{name:<24}"));
    println!();
    for (i, situation) in situations.situation.iter().enumerate() {
        print!("{:<22}", situation.name);
        let mut cell = |name: &str, seen: &dyn Fn() -> Result<f64, String>| {
            let said = match situation.empty.get(name) {
                Some(why) => format!("- ({why})"),
                None => seen().and_then(|value| situation.judged(value)).unwrap_or_else(|e| {
                    failed = true;
                    format!("FAILS: {e}")
                }),
            };
            print!("{said:<24}");
        };
        for stack in &stacks {
            cell(stack.name, &|| situations.seen(situation, stack));
        }
        for (name, values) in &others {
            cell(name, &|| values[i].ok_or_else(|| "no value".into()));
        }
        println!();
    }
    std::process::exit(i32::from(failed));
}
