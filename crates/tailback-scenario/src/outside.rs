//! The parts that a scenario file cannot contain. For queues, which it names as `FILE.py:CLASS`, each name becomes the
//! model of queues from outside. For stacks, this is the message if no stack can be handed to the run.

use super::document::{Entry, Node, Tree};
use super::error::{At, Problem, shorten};
use tailback_base::model::{Catalogue, Raw, Registered};
use tailback_sim::library::outside;
use tailback_transport::entry;
use tailback_transport::rtp::control::RateController;
use tailback_transport::tcp::congestion::Controller;

/// Replace each name `FILE.py:CLASS` of a queue by the model of queues from outside, if these are possible there. The
/// class of the model is that name. Returns whether there was such a name.
pub fn queues_of_files(root: &mut Node, known: &Catalogue) -> bool {
    known.find(outside::MODEL.family, outside::MODEL.name).is_some() && put(root, "")
}

fn put(node: &mut Node, key: &str) -> bool {
    let at = node.at.clone();
    let class = |text: &str| (key.ends_with("queue") && text.contains(".py:")).then(|| text.to_string());
    let pair = |key: &str, value: &str| Entry {
        key: key.to_string(),
        key_at: at.clone(),
        node: Node::text(value, at.clone()),
    };
    match &mut node.tree {
        Tree::Scalar(Raw::Text(text)) => {
            let Some(class) = class(text) else { return false };
            node.tree = Tree::Table(vec![pair("kind", outside::MODEL.name), pair("class", &class)]);
            true
        }
        Tree::Table(entries) => {
            let kind = entries.iter_mut().find(|e| e.key == "kind");
            let mut has_class = false;
            if let Some(e) = kind
                && let Tree::Scalar(Raw::Text(text)) = &e.node.tree
                && let Some(name) = class(text)
            {
                e.node = Node::text(outside::MODEL.name, e.node.at.clone());
                entries.push(pair("class", &name));
                has_class = true;
            }
            entries.iter_mut().fold(has_class, |has_class, e| {
                let key = e.key.clone();
                put(&mut e.node, &key) || has_class
            })
        }
        _ => false,
    }
}

/// The message about a scenario that names a class, if no class can be handed to the run. `path` is the path of the
/// queue.
pub fn refused(at: At, path: &str, class: Option<&str>) -> Problem {
    let name = class.map_or("a Python class".to_string(), |c| format!("the Python class {c}"));
    let port = path.strip_prefix("link.").map(|of_link| {
        let mut inner = of_link;
        // The queues of shapers around it.
        while let Some(outer) = inner.strip_suffix(".queue") {
            inner = outer;
        }
        inner
            .strip_suffix(".reverse_queue")
            .map_or(inner.to_string(), |name| format!("{name}.reverse"))
    });
    let port = port.unwrap_or("PORT".to_string());
    let remedy = format!(
        "run it where the class is: by the command line, queue = \"FILE.py:CLASS\", or from Python, tb.run(\"FILE\", \
         queues={{\"{port}\": {}}}); or name a queue that `tailback describe` lists",
        class.map_or("CLASS", outside::short)
    );
    let problem = format!("the queue is {name}, which a scenario file cannot hold");
    Problem::new("value", at, path, problem, remedy).value(class.unwrap_or(outside::MODEL.name))
}

/// Whether a name stands for a transport from outside.
pub fn is_stack(family: &str, name: &str) -> bool {
    family == outside::STACK.family && name == outside::STACK.name
}

/// The message if no stack can be given to the run.
pub fn no_stack(node: &Node, path: &str) -> Problem {
    let problem = "the transport is a stack from outside, which a scenario file cannot hold";
    let remedy = "run it where the stack is: Scenario::load(\"FILE\").endpoints(\"NAME\", ...) of the crate \
                  tailback-path; or name a transport that `tailback describe` lists";
    Problem::new("value", node.at.clone(), path, problem, remedy).value(outside::STACK.name)
}

/// The call by which Python hands over a class of this family, and the key that names a class in a file.
fn own_class(family: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let tcp = (
        <&Controller>::WHAT,
        "tcp={\"congestion\": tb.congestion(CLASS)}",
        "congestion",
    );
    let rtp = (
        <&RateController>::WHAT,
        "rtp={\"control\": tb.rate_control(CLASS)}",
        "control",
    );
    let stack = (entry::Entry::WHAT, "transport=tb.stack(CLASS)", "transport");
    match family {
        f if f == <&Controller>::FAMILY => Some(tcp),
        f if f == <&RateController>::FAMILY => Some(rtp),
        f if f == entry::Entry::FAMILY => Some(stack),
        _ => None,
    }
}

/// Whether a family is that of congestion or of rate controls.
pub fn has_controls(family: &str) -> bool {
    [<&Controller>::FAMILY, <&RateController>::FAMILY].contains(&family)
}

/// Whether a name can only be a class of Python: `FILE.py:CLASS` or `MODULE.CLASS`.
pub fn is_class(name: &str) -> bool {
    name.contains(['.', ':'])
}

/// Whether a name is a file of Python without a class, where a class in such a file is possible.
pub fn lacks_its_class(family: &str, name: &str) -> bool {
    let takes_one = own_class(family).is_some() || family == outside::MODEL.family;
    takes_one && name.ends_with(".py")
}

/// The message for such a name.
pub fn no_class(node: &Node, path: &str, name: &str) -> Problem {
    let name = shorten(name, 60);
    let problem = format!("\"{name}\" names a file without a class in it");
    let remedy = format!("add the class: \"{name}:CLASS\"");
    Problem::new("value", node.at.clone(), path, problem, remedy).value(node.show())
}

/// Whether a name can only be a control or a transport written in Python: `FILE.py:CLASS` or `MODULE.CLASS`.
pub fn names_a_class(family: &str, name: &str) -> bool {
    own_class(family).is_some() && is_class(name)
}

/// The message for a Python class that is not available.
pub fn unknown_class(node: &Node, path: &str, family: &str, name: &str) -> Problem {
    let name = shorten(name, 60);
    let (what, given, key) = own_class(family).unwrap_or_default();
    let problem = format!("the {what} is the Python class {name}, which is not known here");
    let remedy = format!(
        "run it where the class is: from Python, {given}, or by the command line, {key} = \"FILE.py:CLASS\"; or name a \
         {what} that `tailback describe` lists"
    );
    Problem::new("value", node.at.clone(), path, problem, remedy).value(node.show())
}
