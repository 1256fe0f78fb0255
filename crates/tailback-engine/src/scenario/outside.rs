//! What a scenario file answers that names a class from outside.

use super::document::Node;
use super::error::{At, Problem, shorten};
use crate::library::outside;

/// What is said of a scenario that names a class where none can be handed to the run. `path` is that of the queue.
pub fn refused(at: At, path: &str, class: Option<&str>) -> Problem {
    let name = class.map_or("a Python class".to_string(), |c| format!("the Python class {c}"));
    let port = path.strip_prefix("link.").map(|of_link| {
        let mut at = of_link;
        // Those of shapers around it.
        while let Some(outer) = at.strip_suffix(".queue") {
            at = outer;
        }
        at.strip_suffix(".reverse_queue")
            .map_or(at.to_string(), |name| format!("{name}.reverse"))
    });
    let port = port.unwrap_or("PORT".to_string());
    let remedy = format!(
        "run it from Python, where the class is: tb.run(\"FILE\", queues={{\"{port}\": {}}}); or name a queue that \
         `tailback describe` lists",
        class.map_or("CLASS", outside::short)
    );
    let problem = format!("the queue is {name}, and a scenario file cannot hold one");
    Problem::new("value", at, path, problem, remedy).value(class.unwrap_or(outside::MODEL.name))
}

/// Whether a name can only be a congestion control written in Python: `FILE.py:CLASS` or `MODULE.CLASS`.
pub fn names_a_class(family: &str, name: &str) -> bool {
    family == "congestion" && name.contains(['.', ':'])
}

/// What is said of a congestion control written in Python whose class is not at hand.
pub fn unknown_control(node: &Node, path: &str, name: &str) -> Problem {
    let name = shorten(name, 60);
    let problem = format!("the congestion control is the Python class {name}, which is not at hand here");
    let remedy = "run it where the class is: from Python, tcp={\"congestion\": tb.congestion(CLASS)}, or by the \
                  command line, congestion = \"FILE.py:CLASS\"; or name a control that `tailback describe` lists";
    Problem::new("value", node.at.clone(), path, problem, remedy).value(node.show())
}
