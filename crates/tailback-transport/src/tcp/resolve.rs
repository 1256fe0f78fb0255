//! From what a user gave to a [`Config`]: profile under values, units of the endpoints, what contradicts itself
//! refused.

use super::config::{
    Config, EcnMode, IdleForgets, OptionBytes, PrrBound, PrrUse, RackForm, RepairRules, RtoForm, UndoForm,
};
use super::congestion::{AfterTimeout, ControlForm, Controller, Growth, Halve, WindowRules, list};
use super::params::{MODEL, MOST_AT_ONCE, MOST_HEADER, MOST_OPTIONS};
use super::recovery::Recovery;
use super::recovery::sent::Keep;
use std::sync::Arc;
use tailback_base::model::{NamedValues, Settings, Value, with_nearest};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Size};

/// The user's values, with those of the profile and the declared defaults under them.
struct Values(Settings);

impl Values {
    fn flag(&self, name: &str) -> bool {
        self.0.flag(name)
    }

    fn count(&self, name: &str) -> u32 {
        self.0.count(name) as u32
    }

    /// A count where 0 is no limit.
    fn limit(&self, name: &str) -> u32 {
        match self.count(name) {
            0 => u32::MAX,
            n => n,
        }
    }

    fn time(&self, name: &str) -> Duration {
        self.0.time(name)
    }

    fn time_or_none(&self, name: &str) -> Option<Duration> {
        (!self.0.is_none(name)).then(|| self.time(name))
    }

    fn word(&self, name: &str) -> &str {
        self.0.text(name)
    }

    /// What the word given for `name` stands for.
    fn choose<T: Copy>(&self, name: &str, meanings: &[(&str, T)]) -> Result<T, Refusal> {
        let word = self.word(name);
        let found = meanings.iter().find(|(w, _)| *w == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| unknown(name, word))
    }

    /// Bytes, infinite when unlimited.
    fn window(&self, name: &str) -> f64 {
        match self.0.size(name) {
            Size::Packets(n) => n as f64 * f64::from(self.count("payload")),
            Size::Bytes(n) => n as f64,
            Size::Unlimited => f64::INFINITY,
        }
    }

    fn at_least_a_segment(&self, name: &str) -> Result<f64, Refusal> {
        let (bytes, payload) = (self.window(name), self.count("payload"));
        if bytes >= f64::from(payload) {
            return Ok(bytes);
        }
        let remedy = format!("give at least the payload, {payload}B");
        Err(Refusal::new(
            format!("{name} of {bytes}B does not hold one segment"),
            remedy,
        ))
    }
}

fn unknown(name: &str, word: &str) -> Refusal {
    Refusal::new(
        format!("{name} \"{word}\" is declared, but nothing is known by that name"),
        format!("give another {name}"),
    )
}

impl Config {
    /// Defaults, then the profile's values, then the user's own. `own` are profiles beside the built-in ones.
    ///
    /// # Errors
    /// A profile that does not exist, and parameters that contradict each other.
    pub fn resolve(settings: &Settings, own: &[NamedValues]) -> Result<Config, Refusal> {
        let controllers: Vec<&'static Controller> = list::CONTROLLERS.iter().collect();
        Config::resolve_with(settings, own, &controllers)
    }

    /// As [`Config::resolve`], with these congestion controls to choose from.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn resolve_with(
        settings: &Settings,
        own: &[NamedValues],
        controllers: &[&'static Controller],
    ) -> Result<Config, Refusal> {
        if settings.model.name != MODEL.name {
            return Err(Refusal::new(
                format!("\"{}\" is not tcp", settings.model.name),
                "give a transport of kind \"tcp\"",
            ));
        }
        let v = Values(settings.with_profile(own)?);
        let variant = v.word("variant");
        let by_time = variant == "sack" && v.choose("loss", &[("dupthresh", false), ("rack", true)])?;
        let sack_form = if by_time { "rack" } else { v.word("sack_form") };
        if Recovery::new(variant, sack_form).is_none() {
            return Err(unknown("variant", variant));
        }
        let (controller, controller_settings) = congestion(v.0.value("congestion"), controllers)?;
        let (min_rto, max_rto, idle_after) = times(&v)?;
        let header = header(&v)?;
        Ok(Config {
            variant: variant.to_string(),
            sack_form: sack_form.to_string(),
            eager_pipe: sack_form == "pipe-eager",
            controller,
            controller_settings,
            window: Arc::new(window_rules(&v, header)?),
            payload: v.count("payload"),
            header,
            option_bytes: v.choose("option_bytes", OPTION_BYTES)?,
            rwnd: v.at_least_a_segment("rwnd")?,
            max_burst: v.limit("max_burst"),
            idle_restart: v.flag("idle_restart"),
            idle_after,
            idle_forgets: v.choose("idle_forgets", IDLE_FORGETS)?,
            syn_losses: v.choose(
                "syn_loss_window",
                &[("segment", 1), ("segment_after_two", 2), ("initial", 1)],
            )?,
            timeout_keeps_pipe: v.choose("timeout_window", &[("segment", false), ("pipe", true)])?,
            syn_loss_lowers_ssthresh: v.flag("syn_loss_lowers_ssthresh"),
            syn_backoff_lasts: v.choose("syn_backoff", &[("clear", false), ("keep", true)])?,
            repeated_timeout_lowers: v.choose("repeated_timeout", &[("keep", false), ("lower", true)])?,
            dupack_threshold: v.count("dupack_threshold"),
            limited_transmit: v.flag("limited_transmit"),
            limited_transmit_per_duplicate: v
                .choose("limited_transmit_form", &[("rfc3042", false), ("per_duplicate", true)])?,
            careful: v.flag("careful"),
            first_segment_exempt: v.flag("first_segment_exempt"),
            timeout_keeps_duplicates: v.choose("timeout_duplicates", &[("forget", false), ("keep", true)])?,
            excess_from_window: v.choose("partial_ack_excess", &[("inflation", false), ("window", true)])?,
            impatient: v.choose("partial_ack_timer", &[("impatient", true), ("slow_but_steady", false)])?,
            inflates_window: variant != "sack" && v.choose("inflation", &[("apart", false), ("window", true)])?,
            exit_to_flight: v.choose("exit_window", &[("ssthresh", false), ("flight", true)])?,
            grow_on_exit: v.flag("grow_on_exit"),
            recovery_burst: v.limit("recovery_burst"),
            sack: variant == "sack",
            sack_blocks: v.count("sack_blocks"),
            repair: repair(&v, by_time, sack_form)?,
            dsack: v.flag("dsack"),
            min_rto,
            initial_rto: v.time("initial_rto"),
            max_rto,
            clock_granularity: v.time("clock_granularity"),
            clock_phase: v.time_or_none("clock_phase"),
            rto_form: v.choose("rto_form", RTO_FORMS)?,
            ack_ends_backoff: v.choose("backoff_ends", &[("sample", false), ("ack", true)])?,
            timestamps: v.flag("timestamps"),
            delayed_ack: v.count("delayed_ack"),
            delayed_ack_timeout: v.time("delayed_ack_timeout"),
            quick_acks: v.count("quick_acks"),
            delayed_ack_by_bytes: v.choose("delayed_ack_count", &[("segments", false), ("bytes", true)])?,
            delayed_ack_on_grid: v.choose("delayed_ack_clock", &[("segment", false), ("grid", true)])?,
            ack_as_sink: v.choose("ack_rule", &[("rfc5681", false), ("sink", true)])?,
            ecn: v.choose(
                "ecn",
                &[
                    ("off", EcnMode::Off),
                    ("on", EcnMode::On),
                    ("ignore", EcnMode::Ignore),
                    ("no_echo", EcnMode::NoEcho),
                ],
            )?,
            ecn_syns: v.count("ecn_syns"),
            echo_by_last_cut: v.choose("echo_rule", &[("rfc3168", false), ("last_cut", true)])?,
            ect_on_retransmissions: v.flag("ect_on_retransmissions"),
            cwr_on_retransmissions: v.flag("cwr_on_retransmissions"),
            cwr_without_ecn: v.flag("cwr_without_ecn"),
            cwr_after_any_reduction: v.choose("cwr_after", &[("any_reduction", true), ("echo", false)])?,
            two_way: two_way(&v)?,
            nagle: v.flag("nagle"),
            nagle_rides: v.flag("nagle_rides"),
            acks_always_ride: v.choose("acks_ride", &[("in_order", false), ("always", true)])?,
            fin_apart: v.choose("fin", &[("with_data", false), ("apart", true)])?,
            msl: v.time("msl"),
            syn: v.flag("syn"),
            syn_retries: v.count("syn_retries"),
        })
    }
}

const IDLE_FORGETS: &[(&str, IdleForgets)] = &[
    ("window", IdleForgets::Window),
    ("all", IdleForgets::All),
    ("halves", IdleForgets::Halves),
    ("timer", IdleForgets::Timer),
];

const RTO_FORMS: &[(&str, RtoForm)] = &[
    ("rfc6298", RtoForm::Rfc6298),
    ("linux", RtoForm::Linux),
    ("ticks", RtoForm::Ticks),
];

const OPTION_BYTES: &[(&str, OptionBytes)] = &[
    ("uncounted", OptionBytes::Uncounted),
    ("tcp", OptionBytes::Tcp),
    ("sack8", OptionBytes::Sack8),
    ("sack_unpadded", OptionBytes::SackUnpadded),
];

/// Times that bound each other: the least and the greatest timeout, and the rest after which the window restarts.
fn times(v: &Values) -> Result<(Duration, Duration, Option<Duration>), Refusal> {
    let (min_rto, max_rto) = (v.time("min_rto"), v.time("max_rto"));
    if min_rto > max_rto {
        return Err(Refusal::new(
            format!("min_rto {min_rto} exceeds max_rto {max_rto}"),
            "lower min_rto or raise max_rto",
        ));
    }
    let idle_after = v.time_or_none("idle_after");
    if idle_after.is_some() && !v.flag("idle_restart") {
        return Err(Refusal::new(
            "idle_after says when the window restarts, and idle_restart = false that it never does",
            "leave one of the two out",
        ));
    }
    if idle_after.is_some() && v.word("idle_forgets") == "timer" {
        return Err(Refusal::new(
            "idle_after says when the window restarts, and idle_forgets = \"timer\" that the retransmission timer does",
            "leave one of the two out",
        ));
    }
    Ok((min_rto, max_rto, idle_after))
}

/// What a repair goes by and sends. `by_time`: RACK judges.
fn repair(v: &Values, by_time: bool, sack_form: &str) -> Result<RepairRules, Refusal> {
    let (undo, frto) = undo(v)?;
    Ok(RepairRules {
        keeps: match undo {
            _ if by_time => Some(Keep::Order),
            UndoForm::Off => None,
            UndoForm::Full | UndoForm::Rfc4015 => Some(Keep::Arrivals),
        },
        undo,
        frto,
        rack_form: v.choose(
            "rack_form",
            &[("rfc8985", RackForm::Rfc8985), ("linux", RackForm::Linux)],
        )?,
        tlp: v.flag("tlp"),
        tlp_ack_delay: v.time("tlp_ack_delay"),
        prr: prr(v, sack_form)?,
        prr_bound: v.choose(
            "prr_bound",
            &[
                ("auto", PrrBound::Auto),
                ("crb", PrrBound::Conservative),
                ("ssrb", PrrBound::SlowStart),
            ],
        )?,
    })
}

/// Which reductions are spread: of a recovery whose window can be.
fn prr(v: &Values, form: &str) -> Result<PrrUse, Refusal> {
    let prr = v.choose(
        "prr",
        &[
            ("off", PrrUse::Off),
            ("losses", PrrUse::Losses),
            ("losses_and_echoes", PrrUse::LossesAndEchoes),
        ],
    )?;
    let variant = v.word("variant");
    if prr != PrrUse::Off && (variant == "tahoe" || (variant == "sack" && form.starts_with("pipe"))) {
        let of = if variant == "tahoe" {
            "variant \"tahoe\"".to_string()
        } else {
            format!("sack_form \"{form}\"")
        };
        return Err(Refusal::new(
            format!("prr spreads what fast recovery sends, which {of} decides in its own way"),
            "leave out prr, or give variant = \"sack\" with sack_form = \"rfc6675\"",
        ));
    }
    Ok(prr)
}

/// What a needless repair gives back, and whether timeouts are tested for being one.
fn undo(v: &Values) -> Result<(UndoForm, bool), Refusal> {
    let undo = v.choose(
        "undo",
        &[
            ("off", UndoForm::Off),
            ("full", UndoForm::Full),
            ("rfc4015", UndoForm::Rfc4015),
        ],
    )?;
    let frto = v.flag("frto");
    if frto && undo == UndoForm::Off {
        return Err(Refusal::new(
            "frto finds needless timeouts, and undo = \"off\" gives nothing back for them",
            "give undo = \"full\" too, or leave out frto",
        ));
    }
    if frto && v.word("timeout_reaction") == "halve" {
        return Err(Refusal::new(
            "frto tests whether to go back after a timeout, and timeout_reaction = \"halve\" never goes back",
            "leave out frto, or give timeout_reaction = \"slow-start\"",
        ));
    }
    Ok((undo, frto))
}

/// Whether both ends send; they then need the handshake.
fn two_way(v: &Values) -> Result<bool, Refusal> {
    let two_way = v.choose("connection", &[("one-way", false), ("two-way", true)])?;
    if two_way && !v.flag("syn") {
        return Err(Refusal::new(
            "a two-way connection is opened by SYNs, and syn = false leaves them out",
            "leave out syn, or give connection = \"one-way\"",
        ));
    }
    Ok(two_way)
}

/// The bytes beside the payload, which with the longest options must fit in what a packet counts.
fn header(v: &Values) -> Result<u32, Refusal> {
    let (header, options) = (v.count("header"), v.choose("option_bytes", OPTION_BYTES)?);
    let room = match options {
        OptionBytes::Uncounted => MOST_HEADER,
        OptionBytes::Tcp | OptionBytes::Sack8 | OptionBytes::SackUnpadded => MOST_HEADER - MOST_OPTIONS,
    };
    if header <= room {
        return Ok(header);
    }
    Err(Refusal::new(
        format!("a header of {header}B leaves no room for options that count"),
        format!("give a header of at most {room}B, or option_bytes = \"uncounted\""),
    ))
}

/// The controller a value names, and its own parameters.
fn congestion(value: &Value, controllers: &[&'static Controller]) -> Result<(&'static Controller, Settings), Refusal> {
    let (name, given) = match value {
        Value::Model(m) => (m.model.name, Some(&**m)),
        // A default or a profile's text.
        Value::Text(name) => (name.as_str(), None),
        _ => ("", None),
    };
    let Some(controller) = controllers.iter().copied().find(|c| c.model.name == name) else {
        let names = || controllers.iter().map(|c| c.model.name);
        let known: Vec<String> = names().map(|n| format!("\"{n}\"")).collect();
        return Err(Refusal::new(
            format!("there is no congestion control \"{name}\""),
            with_nearest(name, names(), &format!("one of {}", known.join(", "))),
        ));
    };
    let settings = given.cloned().unwrap_or_else(|| Settings::defaults(controller.model));
    Ok((controller, settings))
}

/// What all controllers are told of the window.
fn window_rules(v: &Values, header: u32) -> Result<WindowRules, Refusal> {
    let segment = f64::from(v.count("payload"));
    let cap = v.at_least_a_segment("window_cap")?;
    let initial_window = match v.0.value("initial_window") {
        // RFC 6928 section 2: "the upper bound for the initial window will be min (10*MSS, max (2*MSS, 14600))".
        Value::None => (10.0 * segment).min((2.0 * segment).max(14600.0)),
        _ => v.at_least_a_segment("initial_window")?,
    };
    if initial_window.is_infinite() {
        return Err(Refusal::new(
            "an unlimited initial window",
            "give packets or bytes, such as \"10 packets\"",
        ));
    }
    // All of it leaves at one instant, before anything is known of the path.
    if initial_window > MOST_AT_ONCE * segment {
        return Err(Refusal::new(
            format!("an initial window of {} segments", (initial_window / segment).round()),
            format!("give at most {MOST_AT_ONCE} segments, such as \"10 packets\""),
        ));
    }
    let mut initial_ssthresh = v.window("initial_ssthresh");
    if v.flag("start_at_cap") {
        initial_ssthresh = initial_ssthresh.min(cap);
    }
    Ok(WindowRules {
        segment,
        wire: segment + f64::from(header),
        initial_window,
        initial_ssthresh,
        cap,
        byte_counting: v.count("byte_counting"),
        growth: if v.flag("grow_when_unused") {
            Growth::Always
        } else {
            Growth::WhenUsed
        },
        halve: v.choose("halve", &[("flight", Halve::Flight), ("cwnd", Halve::Cwnd)])?,
        whole_ssthresh: v.flag("whole_ssthresh"),
        after_lost_syn: v.choose(
            "syn_loss_window",
            &[
                ("segment", segment),
                ("segment_after_two", segment),
                ("initial", initial_window),
            ],
        )?,
        form: v.choose(
            "congestion_form",
            &[
                ("standard", ControlForm::Standard),
                ("linux", ControlForm::Linux),
                ("ns3", ControlForm::Ns3),
            ],
        )?,
        least: v.choose("least_window", &[("segment", segment), ("none", 0.0)])?,
        after_timeout: v.choose(
            "timeout_reaction",
            &[("slow-start", AfterTimeout::SlowStart), ("halve", AfterTimeout::Halve)],
        )?,
        ecn_decrease: (!v.0.is_none("ecn_decrease")).then(|| v.0.real("ecn_decrease")),
    })
}

impl Default for Config {
    fn default() -> Config {
        Config::resolve(&Settings::defaults(&MODEL), &[]).expect("the declared defaults fit each other")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::profiles::BUILT_IN;
    use crate::tcp::testing::config;
    use tailback_base::model::Raw;

    #[test]
    fn every_built_in_profile_resolves() {
        for p in BUILT_IN {
            config(&[("profile", p.name)]);
        }
        let rfc = config(&[]);
        assert_eq!(
            (rfc.window.initial_window, rfc.window.cap, rfc.min_rto),
            (14600.0, f64::INFINITY, Duration::from_millis(1000))
        );
        let ns2 = config(&[("profile", "ns2")]);
        assert_eq!(
            (ns2.payload, ns2.window.cap, ns2.window.initial_ssthresh),
            (500, 10_000.0, 10_000.0)
        );
        assert_eq!(ns2.wire(500, 0, false), 540);
        assert_eq!(ns2.wire(0, 3, false), 64);
    }

    #[test]
    fn the_users_values_win_over_the_profile_and_it_over_the_defaults() {
        let c = config(&[("profile", "jiang-2006"), ("window_cap", "20 packets")]);
        assert_eq!(
            (c.window.cap, c.payload, c.max_rto),
            (20.0 * 460.0, 460, Duration::from_millis(60_000))
        );
        // A value equal to the default still counts as given.
        let c = config(&[("profile", "jiang-2006"), ("payload", "1460B")]);
        assert_eq!(c.payload, 1460);
    }

    #[test]
    fn a_study_brings_its_own_profile_and_may_build_on_another() {
        let own = [
            NamedValues::from_text("coarse", &[("profile", "ns2"), ("clock_granularity", "500ms")]),
            NamedValues::from_text("loop", &[("profile", "loop")]),
            NamedValues {
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
    fn a_header_that_does_not_fit_in_a_packet_is_refused() {
        let resolve = |values: &[(&str, &str)]| {
            let s = values
                .iter()
                .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
            Config::resolve(&s, &[])
        };
        let raw = |text: &str| Raw::Text(text.to_string());
        assert_eq!(resolve(&[("header", "255B")]).unwrap().header, 255);
        let e = Settings::defaults(&MODEL).set("header", &raw("256B")).unwrap_err();
        assert!(e.remedy.contains("255B"), "{e}");
        assert_eq!(
            resolve(&[("header", "215B"), ("option_bytes", "tcp")]).unwrap().header,
            215
        );
        let e = resolve(&[("header", "216B"), ("option_bytes", "tcp")]).unwrap_err();
        assert!(e.problem.contains("216B") && e.remedy.contains("215B"), "{e}");
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
        refuse("initial_window", "9e15 packets");
        refuse("rwnd", "1KB");
        refuse("min_rto", "90s");
    }
}
