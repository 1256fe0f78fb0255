//! The parameters of a connection, checked and in the units the endpoints use.
//!
//! One [`Config`] serves every flow of a group: sender and receiver share it behind an [`Arc`](std::sync::Arc), so that
//! a flow pays eight bytes for forty parameters. Windows are in bytes as real numbers, infinite when unlimited.

use super::congestion;
use super::params::MODEL;
use super::profiles::{BUILT_IN, Profile};
use tailback_base::model::{Settings, Value, with_nearest};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Size};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    Tahoe,
    Reno,
    NewReno,
    Sack,
}

/// How the SACK sender knows what is in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SackForm {
    Rfc6675,
    Pipe,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halve {
    Flight,
    Cwnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoForm {
    Rfc6298,
    Ticks,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionBytes {
    None,
    Tcp,
    Sack8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    Off,
    On,
    /// Sends ECT and echoes, never reduces.
    Ignore,
    /// Sends ECT and hides congestion experienced.
    NoEcho,
}

/// See [`MODEL`] for what each field means.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    pub variant: Variant,
    /// Index into [`congestion::CONTROLLERS`].
    pub congestion: usize,
    /// Bytes.
    pub payload: u32,
    /// Bytes.
    pub header: u32,
    pub option_bytes: OptionBytes,
    /// Bytes.
    pub initial_window: f64,
    /// Bytes, infinite when unlimited.
    pub initial_ssthresh: f64,
    /// Bytes, infinite when unlimited.
    pub window_cap: f64,
    /// Bytes, infinite when unlimited.
    pub rwnd: f64,
    /// Segments; 0 counts ACKs.
    pub byte_counting: u32,
    pub grow_when_unused: bool,
    /// Segments; `u32::MAX` is no limit.
    pub max_burst: u32,
    pub idle_restart: bool,
    /// Rest after which the window restarts, instead of the RTO.
    pub idle_after: Option<Duration>,
    /// The restart makes congestion control anew.
    pub idle_forgets_all: bool,
    pub halve: Halve,
    pub whole_ssthresh: bool,
    pub timeout_halves: bool,
    pub syn_loss_lowers_ssthresh: bool,
    pub dupack_threshold: u32,
    pub limited_transmit: bool,
    pub limited_transmit_per_duplicate: bool,
    pub careful: bool,
    pub impatient: bool,
    pub exit_to_flight: bool,
    pub grow_on_exit: bool,
    /// Segments; `u32::MAX` is no limit.
    pub recovery_burst: u32,
    pub sack_form: SackForm,
    pub sack_blocks: u32,
    pub dsack: bool,
    pub min_rto: Duration,
    pub initial_rto: Duration,
    pub max_rto: Duration,
    pub clock_granularity: Duration,
    /// `None`: each sender has its own.
    pub clock_phase: Option<Duration>,
    pub rto_form: RtoForm,
    pub timestamps: bool,
    pub delayed_ack: u32,
    pub delayed_ack_timeout: Duration,
    /// As ns-2's sink delays, not as RFC 5681.
    pub ack_as_sink: bool,
    pub ecn: EcnMode,
    pub ect_on_retransmissions: bool,
    pub cwr_on_retransmissions: bool,
    pub ecn_decrease: f64,
    pub syn: bool,
    /// 0 never gives up.
    pub syn_retries: u32,
}

impl Config {
    /// Defaults, then the profile's values, then the user's own. Profiles of the study come before built-in ones.
    pub fn resolve(settings: &Settings, study_profiles: &[Profile]) -> Result<Config, Refusal> {
        if settings.model.name != MODEL.name {
            return Err(Refusal::new(
                format!("\"{}\" is not tcp", settings.model.name),
                "give a transport of kind \"tcp\"",
            ));
        }
        let mut base = Settings::defaults(&MODEL);
        apply(settings.text("profile"), study_profiles, &mut base, 0)?;
        let from = |name: &str| if settings.is_given(name) { settings } else { &base };
        let flag = |name: &str| from(name).flag(name);
        let count = |name: &str| from(name).count(name) as u32;
        let time = |name: &str| from(name).time(name);
        let word = |name: &str| from(name).text(name);
        let limit = |name: &str| match count(name) {
            0 => u32::MAX,
            n => n,
        };

        let payload = count("payload");
        let segment = f64::from(payload);
        let window = |name: &str| match from(name).size(name) {
            Size::Packets(n) => n as f64 * segment,
            Size::Bytes(n) => n as f64,
            Size::Unlimited => f64::INFINITY,
        };
        let at_least_a_segment = |name: &str| {
            let bytes = window(name);
            if bytes >= segment {
                return Ok(bytes);
            }
            let remedy = format!("give at least the payload, {payload}B");
            Err(Refusal::new(
                format!("{name} of {bytes}B does not hold one segment"),
                remedy,
            ))
        };
        let window_cap = at_least_a_segment("window_cap")?;
        let initial_window = match from("initial_window").get("initial_window") {
            // RFC 6928 section 2: "the upper bound for the initial window will be min (10*MSS, max (2*MSS, 14600))".
            Value::None => (10.0 * segment).min((2.0 * segment).max(14600.0)),
            _ => at_least_a_segment("initial_window")?,
        };
        if initial_window.is_infinite() {
            return Err(Refusal::new(
                "an unlimited initial window",
                "give packets or bytes, such as \"10 packets\"",
            ));
        }
        let mut initial_ssthresh = window("initial_ssthresh");
        if flag("start_at_cap") {
            initial_ssthresh = initial_ssthresh.min(window_cap);
        }
        let (min_rto, max_rto) = (time("min_rto"), time("max_rto"));
        if min_rto > max_rto {
            return Err(Refusal::new(
                format!("min_rto {min_rto} exceeds max_rto {max_rto}"),
                "lower min_rto or raise max_rto",
            ));
        }
        let idle_after = (!from("idle_after").is_none("idle_after")).then(|| time("idle_after"));
        if idle_after.is_some() && !flag("idle_restart") {
            return Err(Refusal::new(
                "idle_after says when the window restarts, and idle_restart = false that it never does",
                "leave one of the two out",
            ));
        }
        let congestion = word("congestion");
        Ok(Config {
            variant: match word("variant") {
                "tahoe" => Variant::Tahoe,
                "reno" => Variant::Reno,
                "newreno" => Variant::NewReno,
                _ => Variant::Sack,
            },
            congestion: congestion::CONTROLLERS
                .iter()
                .position(|c| c.name == congestion)
                .unwrap_or(0),
            payload,
            header: count("header"),
            option_bytes: match word("option_bytes") {
                "tcp" => OptionBytes::Tcp,
                "sack8" => OptionBytes::Sack8,
                _ => OptionBytes::None,
            },
            initial_window,
            initial_ssthresh,
            window_cap,
            rwnd: at_least_a_segment("rwnd")?,
            byte_counting: count("byte_counting"),
            grow_when_unused: flag("grow_when_unused"),
            max_burst: limit("max_burst"),
            idle_restart: flag("idle_restart"),
            idle_after,
            idle_forgets_all: word("idle_forgets") == "all",
            halve: if word("halve") == "cwnd" {
                Halve::Cwnd
            } else {
                Halve::Flight
            },
            whole_ssthresh: flag("whole_ssthresh"),
            timeout_halves: word("timeout_reaction") == "halve",
            syn_loss_lowers_ssthresh: flag("syn_loss_lowers_ssthresh"),
            dupack_threshold: count("dupack_threshold"),
            limited_transmit: flag("limited_transmit"),
            limited_transmit_per_duplicate: word("limited_transmit_form") == "per_duplicate",
            careful: flag("careful"),
            impatient: word("partial_ack_timer") == "impatient",
            exit_to_flight: word("exit_window") == "flight",
            grow_on_exit: flag("grow_on_exit"),
            recovery_burst: limit("recovery_burst"),
            sack_form: if word("sack_form") == "pipe" {
                SackForm::Pipe
            } else {
                SackForm::Rfc6675
            },
            sack_blocks: count("sack_blocks"),
            dsack: flag("dsack"),
            min_rto,
            initial_rto: time("initial_rto"),
            max_rto,
            clock_granularity: time("clock_granularity"),
            clock_phase: match from("clock_phase").get("clock_phase") {
                Value::None => None,
                _ => Some(time("clock_phase")),
            },
            rto_form: if word("rto_form") == "ticks" {
                RtoForm::Ticks
            } else {
                RtoForm::Rfc6298
            },
            timestamps: flag("timestamps"),
            delayed_ack: count("delayed_ack"),
            delayed_ack_timeout: time("delayed_ack_timeout"),
            ack_as_sink: word("ack_rule") == "sink",
            ecn: match word("ecn") {
                "on" => EcnMode::On,
                "ignore" => EcnMode::Ignore,
                "no_echo" => EcnMode::NoEcho,
                _ => EcnMode::Off,
            },
            ect_on_retransmissions: flag("ect_on_retransmissions"),
            cwr_on_retransmissions: flag("cwr_on_retransmissions"),
            ecn_decrease: from("ecn_decrease").real("ecn_decrease"),
            syn: flag("syn"),
            syn_retries: count("syn_retries"),
        })
    }

    /// Payload of a full segment as a real number of bytes.
    #[inline]
    pub fn segment(&self) -> f64 {
        f64::from(self.payload)
    }

    /// Size on the wire of a segment with this payload and these options.
    #[inline]
    pub fn wire(&self, payload: u32, sack_blocks: usize, timestamps: bool) -> u32 {
        let blocks = sack_blocks as u32;
        let options = match self.option_bytes {
            OptionBytes::None => 0,
            OptionBytes::Sack8 => 8 * blocks,
            // Timestamps 10 B, SACK 2 + 8n B, each padded with two NOPs to whole words (RFC 7323 appendix A, RFC 2018).
            OptionBytes::Tcp => (if timestamps { 12 } else { 0 }) + if blocks > 0 { 4 + 8 * blocks } else { 0 },
        };
        payload + self.header + options
    }
}

/// Put the values of the profile `name` into `base`, after those of the profile it builds on.
fn apply(name: &str, study: &[Profile], base: &mut Settings, depth: u32) -> Result<(), Refusal> {
    let names = study
        .iter()
        .map(|p| p.name.as_str())
        .chain(BUILT_IN.iter().map(|p| p.name));
    let own = study.iter().find(|p| p.name == name).cloned();
    let found = own.or_else(|| {
        BUILT_IN
            .iter()
            .find(|p| p.name == name)
            .map(|p| Profile::from_text(p.name, p.values))
    });
    let Some(profile) = found else {
        let known = format!(
            "one of {}",
            names.clone().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ")
        );
        return Err(Refusal::new(
            format!("there is no TCP profile \"{name}\""),
            with_nearest(name, names, &known),
        ));
    };
    if depth > 8 {
        return Err(Refusal::new(
            format!("the TCP profile \"{name}\" builds on itself"),
            "break the circle of `profile` values",
        ));
    }
    if let Some((_, raw)) = profile.values.iter().find(|(k, _)| k == "profile") {
        let tailback_base::model::Raw::Text(under) = raw else {
            return Err(Refusal::new(
                format!("profile {} is not a name", raw.show()),
                "give the name of a profile in quotes",
            ));
        };
        apply(under, study, base, depth + 1)?;
    }
    for (key, raw) in profile.values.iter().filter(|(k, _)| k != "profile") {
        let refused =
            |e: Refusal| Refusal::new(format!("in the TCP profile \"{name}\", {key}: {}", e.problem), e.remedy);
        base.set(key, raw).map_err(refused)?;
    }
    Ok(())
}

impl Default for Config {
    fn default() -> Config {
        Config::resolve(&Settings::defaults(&MODEL), &[]).expect("the declared defaults fit each other")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::config;
    use tailback_base::model::Raw;

    #[test]
    fn every_built_in_profile_resolves() {
        for p in BUILT_IN {
            config(&[("profile", p.name)]);
        }
        let rfc = config(&[]);
        assert_eq!(
            (rfc.initial_window, rfc.window_cap, rfc.min_rto),
            (14600.0, f64::INFINITY, Duration::from_millis(1000))
        );
        let ns2 = config(&[("profile", "ns2")]);
        assert_eq!(
            (ns2.payload, ns2.window_cap, ns2.initial_ssthresh),
            (500, 10_000.0, 10_000.0)
        );
        assert_eq!(ns2.wire(500, 0, false), 540);
        assert_eq!(ns2.wire(0, 3, false), 64);
    }

    #[test]
    fn the_users_values_win_over_the_profile_and_it_over_the_defaults() {
        let c = config(&[("profile", "jiang-2006"), ("window_cap", "20 packets")]);
        assert_eq!(
            (c.window_cap, c.payload, c.max_rto),
            (20.0 * 460.0, 460, Duration::from_millis(60_000))
        );
        // A value equal to the default still counts as given.
        let c = config(&[("profile", "jiang-2006"), ("payload", "1460B")]);
        assert_eq!(c.payload, 1460);
    }

    #[test]
    fn a_study_brings_its_own_profile_and_may_build_on_another() {
        let own = [
            Profile::from_text("coarse", &[("profile", "ns2"), ("clock_granularity", "500ms")]),
            Profile::from_text("loop", &[("profile", "loop")]),
            Profile {
                name: "bad".into(),
                values: vec![("payload".into(), Raw::Int(500))],
            },
        ];
        let resolve = |name: &str| Config::resolve(&Settings::defaults(&MODEL).with("profile", name), &own);
        let c = resolve("coarse").unwrap();
        assert_eq!((c.clock_granularity, c.payload), (Duration::from_millis(500), 500));
        assert!(resolve("loop").unwrap_err().problem.contains("builds on itself"));
        let e = resolve("bad").unwrap_err();
        assert!(
            e.problem.contains("\"bad\", payload") && e.remedy.contains("500B"),
            "{e}"
        );
        let e = resolve("ns-2").unwrap_err();
        assert!(e.remedy.contains("did you mean \"ns2\""), "{e}");
    }

    #[test]
    fn what_holds_no_segment_is_refused() {
        let refuse = |name: &str, text: &str| {
            let e = Config::resolve(&Settings::defaults(&MODEL).with(name, text), &[]).unwrap_err();
            assert!(!e.remedy.is_empty(), "{e}");
        };
        refuse("window_cap", "1000B");
        refuse("initial_window", "100B");
        refuse("initial_window", "unlimited");
        refuse("rwnd", "1KB");
        refuse("min_rto", "90s");
    }
}
