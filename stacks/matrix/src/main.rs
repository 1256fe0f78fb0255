//! Each stack in each situation: a run with an assertion. Prints a table; exit status 1 if an assertion fails.

mod digest;
mod situations;

use digest::Summed;
use noq_stack::Noq;
use quinn_stack::Quinn;
use situations::{SITUATIONS, Stack};
use smoltcp::socket::tcp::CongestionControl;
use smoltcp_stack::Smoltcp;
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

fn main() {
    let stacks = [
        stack::<Quinn, Quinn>("quinn", |p| quinn_stack::pair(p, Default::default())),
        stack::<Noq, Noq>("noq", |p| noq_stack::pair(p, Default::default())),
        stack::<Smoltcp, Smoltcp>("smoltcp", |p| smoltcp_stack::pair(p, CongestionControl::Cubic, BUFFER)),
    ];
    let mut failed = 0;
    print!("{:<22}", "");
    stacks.iter().for_each(|s| print!("{:<24}", s.name));
    println!();
    for situation in &SITUATIONS {
        print!("{:<22}", situation.name);
        for stack in &stacks {
            let said = match (situation.empty)(stack.name) {
                Some(why) => format!("- ({why})"),
                None => (situation.run)(stack).unwrap_or_else(|e| {
                    failed += 1;
                    format!("FAILS: {e}")
                }),
            };
            print!("{said:<24}");
        }
        println!();
    }
    std::process::exit(i32::from(failed > 0));
}
