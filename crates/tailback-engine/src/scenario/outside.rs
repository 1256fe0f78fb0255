//! What a scenario file answers that names a class from outside.

use super::error::{At, Problem};
use crate::library::outside;

/// What is said of a scenario that names a class where none can be handed to the run. `path` is that of the queue.
pub fn refused(at: At, path: &str, class: Option<&str>) -> Problem {
    let name = class.map_or("a Python class".to_string(), |c| format!("the Python class {c}"));
    let port = match (path.strip_prefix("link."), path.strip_suffix(".reverse_queue")) {
        (Some(link), None) => link.strip_suffix(".queue").unwrap_or(link).to_string(),
        (Some(_), Some(whole)) => format!("{}.reverse", whole.trim_start_matches("link.")),
        (None, _) => "PORT".to_string(),
    };
    let remedy = format!(
        "run it from Python, where the class is: tb.run(\"FILE\", queues={{\"{port}\": {}}}); or name a queue that \
         `tailback describe` lists",
        class.map_or("CLASS", outside::short)
    );
    let problem = format!("the queue is {name}, and a scenario file cannot hold one");
    Problem::new("value", at, path, problem, remedy).value(class.unwrap_or(outside::MODEL.name))
}
