//! The description of a path, and a run over it.

use crate::{Endpoint, Problem, Run, Scenario};

/// The group of the caller's connections in the simulator.
pub(crate) const OWN: &str = "own";
/// The bottleneck.
pub(crate) const LINE: &str = "line";

/// A bottleneck with a queue, a round trip, and other effects on the path. Quantities and tables are written as in
/// tailback's scenarios; they are checked when the path is run.
///
/// ```
/// use tailback_path::Path;
///
/// let path = Path::new("10Mbps", "40ms")
///     .queue(r#"{ kind = "codel", target = "10ms", buffer = "200 packets" }"#)
///     .impair(r#"{ kind = "random", probability = 0.01 }"#)
///     .beside("others", "count = 2\ntcp = { congestion = \"cubic\" }")
///     .warmup("1s")
///     .seed(7);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    rate: String,
    rtt: String,
    queue: String,
    impair: [Vec<String>; 2],
    beside: Vec<(String, String)>,
    warmup: String,
    seed: u64,
}

impl Path {
    /// A line of this rate (`10Mbps`) with this round trip (`40ms`) and a drop-tail queue of 100 packets before it.
    pub fn new(rate: &str, rtt: &str) -> Path {
        Path {
            rate: rate.into(),
            rtt: rtt.into(),
            queue: r#"{ kind = "droptail", buffer = "100 packets" }"#.into(),
            impair: [vec![], vec![]],
            beside: vec![],
            warmup: "0s".into(),
            seed: 1,
        }
    }

    /// Another queue discipline: its name (`codel`), or a table (`{ kind = "codel", target = "10ms" }`).
    /// `tailback describe` lists the disciplines.
    #[must_use]
    pub fn queue(mut self, queue: &str) -> Path {
        self.queue = if queue.trim_start().starts_with('{') {
            queue.into()
        } else {
            format!("{queue:?}")
        };
        self
    }

    /// An impairment of datagrams before the queue, in the order of the calls:
    /// `{ kind = "random", probability = 0.01 }`, `black-hole` or any other one that `tailback describe impairment`
    /// lists.
    #[must_use]
    pub fn impair(mut self, impairment: &str) -> Path {
        self.impair[0].push(impairment.into());
        self
    }

    /// The same as [`Path::impair`], in the opposite direction.
    #[must_use]
    pub fn impair_back(mut self, impairment: &str) -> Path {
        self.impair[1].push(impairment.into());
        self
    }

    /// Other traffic through the same queue: a group of flows with this name, and with the keys of a scenario's
    /// `[flows.NAME]`, one per line: `count = 2` and `tcp = { congestion = "cubic" }`.
    #[must_use]
    pub fn beside(mut self, name: &str, keys: &str) -> Path {
        self.beside.push((name.into(), keys.into()));
        self
    }

    /// The time at the start that the measurements leave out.
    #[must_use]
    pub fn warmup(mut self, time: &str) -> Path {
        self.warmup = time.into();
        self
    }

    /// The seed of all random numbers. The default is 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Path {
        self.seed = seed;
        self
    }

    /// Run these pairs of ends, which all start at once, for this long (`20s`).
    ///
    /// # Errors
    /// An error in the description of the path.
    pub fn run<S, R>(&self, ends: impl IntoIterator<Item = (S, R)>, duration: &str) -> Result<Run<S, R>, Problem>
    where
        S: Endpoint + 'static,
        R: Endpoint<Data = S::Data> + 'static,
        S::Data: 'static,
    {
        let mut ends = ends.into_iter().collect::<Vec<_>>().into_iter();
        let text = self.scenario(ends.len(), duration)?;
        let mut results = Scenario::parse(&text, "the path")
            .endpoints(OWN, move |_pair| ends.next().expect("as many as flows"))
            .run()?;
        let ends = results.take_ends(OWN);
        Ok(Run { ends, results })
    }

    /// The scenario that is run.
    fn scenario(&self, pairs: usize, duration: &str) -> Result<String, Problem> {
        if pairs == 0 {
            return Err(Problem("there is no pair of ends to run; give at least one".into()));
        }
        let rtt =
            tailback_base::quantity::parse_time(&self.rtt).map_err(|e| Problem(format!("the round trip: {e}")))?;
        let list = |way: usize| self.impair[way].join(", ");
        let mut text = format!(
            "duration = {duration:?}\nwarmup = {:?}\nseed = {}\n\n[link.{LINE}]\nfrom = \"a\"\nto = \"b\"\nrate = \
             {:?}\ndelay = \"{}ns\"\n\
             queue = {}\nreverse_queue = {{ kind = \"droptail\", buffer = \"unlimited\" }}\nimpair = \
             [{}]\nreverse_impair = [{}]\n\n\
             [flows.{OWN}]\ncount = {pairs}\ntransport = \"stack\"\n",
            self.warmup,
            self.seed,
            self.rate,
            rtt.0 / 2,
            self.queue,
            list(0),
            list(1),
        );
        for (name, keys) in &self.beside {
            text.push_str(&format!("\n[flows.{name}]\n{keys}\n"));
        }
        Ok(text)
    }
}
