//! The classes of sizes of the table of completions.

use crate::check::Reader;
use crate::document::Node;
use crate::error::{At, Problem};
use tailback_base::quantity::{Refusal, parse_bytes};
use tailback_sim::declare::tables::top::SIZE_CLASSES;
use tailback_sim::spec::SizeClasses;

/// The largest sizes of the default, bytes.
const DECADES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// The most classes that a scenario may define.
const MOST: usize = 100;

/// The classes that a scenario defines. Problems with them are complained about.
pub fn read(r: &mut Reader, root: &Node, given: &[String]) -> SizeClasses {
    match given {
        [word] if word == "decades" => SizeClasses::To(DECADES.to_vec()),
        [word] if word == "deciles" => SizeClasses::Deciles,
        _ => {
            let read = edges(given);
            if let Err(Refusal { problem, remedy, .. }) = &read {
                let place = root.given(&SIZE_CLASSES).map_or(At::Nowhere, |n| n.at.clone());
                let shown = format!("{given:?}");
                let problem = Problem::new("value", place, SIZE_CLASSES.name, problem.clone(), remedy.clone());
                r.complain(problem.value(shown));
            }
            SizeClasses::To(read.unwrap_or_default())
        }
    }
}

fn edges(given: &[String]) -> Result<Vec<u64>, Refusal> {
    let remedy = "write \"decades\", \"deciles\", or sizes that rise, such as [\"20kB\", \"1MB\"]";
    if given.len() > MOST {
        let problem = format!("{} classes of sizes are too many", given.len());
        return Err(Refusal::new(problem, format!("give at most {MOST}")));
    }
    let mut edges: Vec<u64> = Vec::with_capacity(given.len());
    for text in given {
        let bytes = match parse_bytes(text) {
            Ok(bytes) if bytes > 0 => bytes,
            _ => return Err(Refusal::new(format!("\"{text}\" is no size in bytes"), remedy)),
        };
        if edges.last().is_some_and(|last| *last >= bytes) {
            return Err(Refusal::new(
                format!("\"{text}\" is not larger than the size before it"),
                remedy,
            ));
        }
        edges.push(bytes);
    }
    Ok(edges)
}
