//! The error of a description that cannot be run.

use std::fmt;

/// An error in the description of a path or in a scenario: the problem, its place, and what to write instead.
///
/// ```
/// # use tailback_path::{Datagram, Ecn, Endpoint, Path, Time};
/// # struct Silent;
/// # impl Endpoint for Silent {
/// #     type Data = ();
/// #     fn receive(&mut self, _data: (), _ecn: Ecn, _now: Time) {}
/// #     fn transmit(&mut self, _now: Time) -> Option<Datagram<()>> { None }
/// #     fn timeout(&self) -> Option<Time> { None }
/// # }
/// let Err(e) = Path::new("10Mbps", "40 metres").run([(Silent, Silent)], "1s") else { unreachable!() };
/// assert!(e.to_string().contains("\"metres\" is not a unit of time"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Problem(pub(crate) String);

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same as `Display`, so that `unwrap` shows it readably.
impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}
