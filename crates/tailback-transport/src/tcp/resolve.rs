//! Makes a [`Config`] from the user's settings. The profile gives the values that the user does not give. Values are
//! converted to the units of the endpoints, and contradictions are refused.

use super::choices::*;
use super::config::{
    AccurateEcn, Asked, Config, HostRules, IdleForgets, OptionBytes, PrrUse, RackForm, RepairRules, UndoForm,
};
use super::congestion::{AfterTimeout, Controller, Growth, WindowRules, list};
use super::params::*;
use super::recovery::Algorithm;
use super::recovery::sent::Keep;
use crate::segment::MOST_HEADER;
use std::sync::Arc;
use tailback_base::model::{NamedValues, Settings, Value, with_nearest};
use tailback_base::quantity::Refusal;
use tailback_base::{Duration, Size};

/// The size in bytes, infinite if unlimited.
fn bytes(s: &Settings, size: Size) -> f64 {
    match size {
        Size::Packets(n) => n as f64 * f64::from(s.get(&PAYLOAD)),
        Size::Bytes(n) => n as f64,
        Size::Unlimited => f64::INFINITY,
    }
}

/// The size in bytes of a window that must hold at least one segment. `name` is the parameter of this window.
fn at_least_a_segment(s: &Settings, name: &str, size: Size) -> Result<f64, Refusal> {
    let (bytes, payload) = (bytes(s, size), s.get(&PAYLOAD));
    if bytes >= f64::from(payload) {
        return Ok(bytes);
    }
    let remedy = format!("give at least the payload, {payload}B");
    Err(Refusal::new(
        format!("{name} of {bytes}B does not hold one segment"),
        remedy,
    ))
}

/// A count that is unlimited if it is 0.
fn limit(n: u32) -> u32 {
    match n {
        0 => u32::MAX,
        n => n,
    }
}

/// The algorithm that repairs losses.
fn recovery(s: &Settings) -> Algorithm {
    match s.get(&VARIANT) {
        Variant::Tahoe => Algorithm::Tahoe,
        Variant::Reno => Algorithm::Reno,
        Variant::NewReno if s.get(&LOSS) == LossSign::Rack && s.get(&RACK_FORM) == RackForm::Linux => {
            Algorithm::Counted
        }
        Variant::NewReno => Algorithm::NewReno,
        Variant::Sack => match (s.get(&LOSS), s.get(&SACK_FORM)) {
            (LossSign::Rack, _) => Algorithm::Rack,
            (LossSign::Dupthresh, SackForm::Rfc6675) => Algorithm::Sack,
            (LossSign::Dupthresh, SackForm::Pipe) => Algorithm::Pipe,
            (LossSign::Dupthresh, SackForm::PipeEager) => Algorithm::EagerPipe,
        },
    }
}

impl Config {
    /// The profile's values override the defaults, and the user's values override both. `own` are profiles in addition
    /// to the built-in ones.
    ///
    /// # Errors
    /// The profile does not exist, or parameters contradict each other.
    pub fn resolve(settings: &Settings, own: &[NamedValues]) -> Result<Config, Refusal> {
        let controllers: Vec<&'static Controller> = list::CONTROLLERS.iter().collect();
        Config::resolve_with(settings, own, &controllers)
    }

    /// Like [`Config::resolve`], with these congestion controls to choose from.
    ///
    /// # Errors
    /// The errors are those of [`Config::resolve`].
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
        let s = &settings.with_profile(own)?;
        let recovery = recovery(s);
        let (controller, controller_settings) = congestion(s.value(CONGESTION.name), controllers)?;
        let (ect_on_handshake, ect_on_all) = s.get(&ECT_ON_CONTROL).with(controller.facts.marks);
        let (min_rto, max_rto, idle_after) = times(s)?;
        let header = header(s)?;
        let window = window_rules(s, header)?;
        Ok(Config {
            recovery,
            controller,
            asked: Asked::of(controller, &controller_settings, &window),
            controller_settings,
            window: Arc::new(window),
            payload: s.get(&PAYLOAD),
            header,
            option_bytes: s.get(&OPTION_BYTES),
            rwnd: at_least_a_segment(s, RWND.name, s.get(&RWND))?,
            max_burst: limit(s.get(&MAX_BURST)),
            offload: s
                .get(&OFFLOAD)
                .map(|bytes| (bytes / u64::from(s.get(&PAYLOAD))).max(1) as u32),
            host: host(s),
            idle_restart: s.get(&IDLE_RESTART),
            idle_after,
            idle_forgets: s.get(&IDLE_FORGETS),
            syn_losses: match s.get(&SYN_LOSS_WINDOW) {
                SynLossWindow::SegmentAfterTwo => 2,
                SynLossWindow::Segment | SynLossWindow::Initial => 1,
            },
            timeout_keeps_pipe: s.get(&TIMEOUT_WINDOW) == TimeoutWindow::Pipe,
            syn_loss_lowers_ssthresh: s.get(&SYN_LOSS_LOWERS_SSTHRESH),
            syn_backoff_lasts: s.get(&SYN_BACKOFF) == SynBackoff::Keep,
            repeated_timeout_lowers: s.get(&REPEATED_TIMEOUT) == RepeatedTimeout::Lower,
            dupack_threshold: s.get(&DUPACK_THRESHOLD),
            limited_transmit: s.get(&LIMITED_TRANSMIT),
            limited_transmit_per_duplicate: s.get(&LIMITED_TRANSMIT_FORM) == LimitedTransmitForm::PerDuplicate,
            careful: s.get(&CAREFUL),
            first_segment_exempt: s.get(&FIRST_SEGMENT_EXEMPT),
            timeout_keeps_duplicates: s.get(&TIMEOUT_DUPLICATES) == TimeoutDuplicates::Keep,
            excess_from_window: s.get(&PARTIAL_ACK_EXCESS) == PartialAckExcess::Window,
            impatient: s.get(&PARTIAL_ACK_TIMER) == PartialAckTimer::Impatient,
            inflates_window: s.get(&VARIANT) != Variant::Sack && s.get(&INFLATION) == Inflation::Window,
            exit_to_flight: s.get(&EXIT_WINDOW) == ExitWindow::Flight,
            grow_on_exit: s.get(&GROW_ON_EXIT),
            recovery_burst: limit(s.get(&RECOVERY_BURST)),
            sack: s.get(&VARIANT) == Variant::Sack,
            sack_blocks: s.get(&SACK_BLOCKS),
            repair: repair(s, recovery)?,
            dsack: s.get(&DSACK),
            min_rto,
            initial_rto: s.get(&INITIAL_RTO),
            max_rto,
            clock_granularity: s.get(&CLOCK_GRANULARITY),
            clock_phase: s.get(&CLOCK_PHASE),
            rto_form: s.get(&RTO_FORM),
            ack_ends_backoff: s.get(&BACKOFF_ENDS) == BackoffEnds::Ack,
            timestamps: s.get(&TIMESTAMPS),
            delayed_ack: s.get(&DELAYED_ACK),
            delayed_ack_timeout: s.get(&DELAYED_ACK_TIMEOUT),
            quick_acks: s.get(&QUICK_ACKS),
            delayed_ack_by_bytes: s.get(&DELAYED_ACK_COUNT) == DelayedAckCount::Bytes,
            delayed_ack_on_grid: s.get(&DELAYED_ACK_CLOCK) == DelayedAckClock::Grid,
            ack_as_sink: s.get(&ACK_RULE) == AckRule::Sink,
            ecn: s.get(&ECN).with(controller.facts.marks),
            accurate: match s.get(&ACCURATE_ECN) {
                AccurateEcnUse::Off => None,
                what => Some(AccurateEcn {
                    form: s.get(&ACCURATE_ECN_FORM),
                    option: what == AccurateEcnUse::Option,
                }),
            },
            ecn_syns: s.get(&ECN_SYNS),
            echo_by_last_cut: s.get(&ECHO_RULE) == EchoEvents::LastCut,
            ect_on_handshake,
            ect_on_acks: ect_on_all,
            ect_on_retransmissions: s.get(&ECT_ON_RETRANSMISSIONS) || ect_on_all,
            cwr_on_retransmissions: s.get(&CWR_ON_RETRANSMISSIONS),
            cwr_without_ecn: s.get(&CWR_WITHOUT_ECN),
            cwr_after_any_reduction: s.get(&CWR_AFTER) == CwrAfter::AnyReduction,
            two_way: two_way(s)?,
            nagle: s.get(&NAGLE),
            nagle_rides: s.get(&NAGLE_RIDES),
            acks_always_ride: s.get(&ACKS_RIDE) == AcksRide::Always,
            fin_apart: s.get(&FIN) == Fin::Apart,
            msl: s.get(&MSL),
            syn: s.get(&SYN),
            syn_retries: s.get(&SYN_RETRIES),
        })
    }
}

/// The limits and the pacing of the sender's host.
fn host(s: &Settings) -> HostRules {
    HostRules {
        most: s.get(&SMALL_QUEUES),
        paces: s.get(&PACING) == Pacing::Window,
    }
}

/// Times that bound each other: the least and the greatest timeout, and the idle time after which the window
/// restarts.
fn times(s: &Settings) -> Result<(Duration, Duration, Option<Duration>), Refusal> {
    let (min_rto, max_rto) = (s.get(&MIN_RTO), s.get(&MAX_RTO));
    if min_rto > max_rto {
        return Err(Refusal::new(
            format!("min_rto {min_rto} exceeds max_rto {max_rto}"),
            "lower min_rto or raise max_rto",
        ));
    }
    let idle_after = s.get(&IDLE_AFTER);
    if idle_after.is_some() && !s.get(&IDLE_RESTART) {
        return Err(Refusal::new(
            "idle_after says when the window restarts, but idle_restart = false says that it never does",
            "leave one of the two out",
        ));
    }
    if idle_after.is_some() && s.get(&IDLE_FORGETS) == IdleForgets::Timer {
        return Err(Refusal::new(
            "idle_after says when the window restarts, but with idle_forgets = \"timer\" the retransmission timer \
             decides this",
            "leave one of the two out",
        ));
    }
    Ok((min_rto, max_rto, idle_after))
}

/// The rules for detecting losses, for the segments that a repair sends, and for undoing a spurious repair.
fn repair(s: &Settings, recovery: Algorithm) -> Result<RepairRules, Refusal> {
    let (undo, frto) = undo(s)?;
    Ok(RepairRules {
        keeps: match undo {
            _ if recovery == Algorithm::Rack => Some(Keep::Order),
            _ if recovery == Algorithm::Counted => Some(Keep::Lost),
            UndoForm::Off => None,
            UndoForm::Full | UndoForm::Rfc4015 => Some(Keep::Arrivals),
        },
        undo,
        frto,
        rack_form: s.get(&RACK_FORM),
        tlp: s.get(&TLP),
        tlp_ack_delay: s.get(&TLP_ACK_DELAY),
        prr: prr(s, recovery)?,
        prr_bound: s.get(&PRR_BOUND),
    })
}

/// Which reductions are spread. Only a recovery whose window can be spread allows this.
fn prr(s: &Settings, recovery: Algorithm) -> Result<PrrUse, Refusal> {
    let prr = s.get(&PRR);
    let lone_feature = match recovery {
        Algorithm::Tahoe => Some("variant \"tahoe\""),
        Algorithm::Pipe => Some("sack_form \"pipe\""),
        Algorithm::EagerPipe => Some("sack_form \"pipe-eager\""),
        _ => None,
    };
    match lone_feature {
        Some(of) if prr != PrrUse::Off => Err(Refusal::new(
            format!("prr sets what fast recovery sends, but {of} sets this in its own way"),
            "leave out prr, or give variant = \"sack\" with sack_form = \"rfc6675\"",
        )),
        _ => Ok(prr),
    }
}

/// The undo of a spurious repair, and whether timeouts are tested for being spurious.
fn undo(s: &Settings) -> Result<(UndoForm, bool), Refusal> {
    let undo = s.get(&UNDO);
    let frto = s.get(&FRTO);
    if frto && undo == UndoForm::Off {
        return Err(Refusal::new(
            "frto finds spurious timeouts, but with undo = \"off\" nothing is restored after them",
            "give undo = \"full\" too, or leave out frto",
        ));
    }
    if frto && s.get(&TIMEOUT_REACTION) == AfterTimeout::Halve {
        return Err(Refusal::new(
            "frto tests whether to go back after a timeout, but timeout_reaction = \"halve\" never goes back",
            "leave out frto, or give timeout_reaction = \"slow-start\"",
        ));
    }
    Ok((undo, frto))
}

/// Whether both ends send. If so, the handshake is required.
fn two_way(s: &Settings) -> Result<bool, Refusal> {
    let two_way = s.get(&CONNECTION) == ConnectionForm::TwoWay;
    if two_way && !s.get(&SYN) {
        return Err(Refusal::new(
            "a two-way connection is opened by SYNs, but syn = false leaves them out",
            "leave out syn, or give connection = \"one-way\"",
        ));
    }
    Ok(two_way)
}

/// The bytes in addition to the payload. With the longest options their number must fit in the field of a packet.
fn header(s: &Settings) -> Result<u32, Refusal> {
    let (header, options) = (s.get(&HEADER), s.get(&OPTION_BYTES));
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

/// The controller that a value names, and the controller's own parameters.
pub(super) fn congestion(
    value: &Value,
    controllers: &[&'static Controller],
) -> Result<(&'static Controller, Settings), Refusal> {
    let (name, given_settings) = match value {
        Value::Model(m) => (m.model.name, Some(&**m)),
        // The value is a default or a profile's text.
        Value::Text(name) => (name.as_str(), None),
        _ => ("", None),
    };
    // If several models have this name, take the one that was read. A model written in Python may have been defined
    // again.
    let read = |c: &&Controller| given_settings.is_some_and(|m| std::ptr::eq(c.model, m.model));
    let all = || controllers.iter().copied();
    let Some(controller) = all().find(read).or_else(|| all().find(|c| c.model.name == name)) else {
        let names = || controllers.iter().map(|c| c.model.name);
        let quoted: Vec<String> = names().map(|n| format!("\"{n}\"")).collect();
        return Err(Refusal::new(
            format!("there is no congestion control \"{name}\""),
            with_nearest(name, names(), &format!("one of {}", quoted.join(", "))),
        ));
    };
    let settings = given_settings
        .cloned()
        .unwrap_or_else(|| Settings::defaults(controller.model));
    Ok((controller, settings))
}

/// The rules for the window that all controllers share.
fn window_rules(s: &Settings, header: u32) -> Result<WindowRules, Refusal> {
    let segment = f64::from(s.get(&PAYLOAD));
    let cap = at_least_a_segment(s, WINDOW_CAP.name, s.get(&WINDOW_CAP))?;
    let initial_window = match s.get(&INITIAL_WINDOW) {
        // RFC 6928 section 2: "the upper bound for the initial window will be min (10*MSS, max (2*MSS, 14600))".
        None => (10.0 * segment).min((2.0 * segment).max(14600.0)),
        Some(size) => at_least_a_segment(s, INITIAL_WINDOW.name, size)?,
    };
    if initial_window.is_infinite() {
        return Err(Refusal::new(
            "an unlimited initial window",
            "give packets or bytes, such as \"10 packets\"",
        ));
    }
    // The whole initial window leaves at one instant, before anything is known about the path.
    if initial_window > MOST_AT_ONCE * segment {
        return Err(Refusal::new(
            format!("an initial window of {} segments", (initial_window / segment).round()),
            format!("give at most {MOST_AT_ONCE} segments, such as \"10 packets\""),
        ));
    }
    let mut initial_ssthresh = bytes(s, s.get(&INITIAL_SSTHRESH));
    if s.get(&START_AT_CAP) {
        initial_ssthresh = initial_ssthresh.min(cap);
    }
    Ok(WindowRules {
        segment,
        wire: segment + f64::from(header),
        initial_window,
        initial_ssthresh,
        cap,
        byte_counting: s.get(&BYTE_COUNTING),
        growth: if s.get(&GROW_WHEN_UNUSED) {
            Growth::Always
        } else {
            Growth::WhenUsed
        },
        halve: s.get(&HALVE),
        whole_ssthresh: s.get(&WHOLE_SSTHRESH),
        after_lost_syn: match s.get(&SYN_LOSS_WINDOW) {
            SynLossWindow::Segment | SynLossWindow::SegmentAfterTwo => segment,
            SynLossWindow::Initial => initial_window,
        },
        form: s.get(&CONGESTION_FORM),
        least: match s.get(&LEAST_WINDOW) {
            LeastWindow::Segment => segment,
            LeastWindow::None => 0.0,
        },
        after_timeout: s.get(&TIMEOUT_REACTION),
        ecn_decrease: s.get(&ECN_DECREASE),
        sack: s.get(&VARIANT) == Variant::Sack,
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
        let own_profiles = [
            NamedValues::from_text("coarse", &[("profile", "ns2"), ("clock_granularity", "500ms")]),
            NamedValues::from_text("loop", &[("profile", "loop")]),
            NamedValues {
                name: "bad".into(),
                values: vec![("payload".into(), Raw::Int(500))],
            },
        ];
        let resolve = |name: &str| Config::resolve(&Settings::defaults(&MODEL).with("profile", name), &own_profiles);
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
        let resolve = |overrides: &[(&str, &str)]| {
            let s = overrides
                .iter()
                .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
            Config::resolve(&s, &[])
        };
        let raw = |text: &str| Raw::Text(text.to_string());
        assert_eq!(resolve(&[("header", "254B")]).unwrap().header, 254);
        let e = Settings::defaults(&MODEL).set("header", &raw("255B")).unwrap_err();
        assert!(e.remedy.contains("254B"), "{e}");
        assert_eq!(
            resolve(&[("header", "214B"), ("option_bytes", "tcp")]).unwrap().header,
            214
        );
        let e = resolve(&[("header", "215B"), ("option_bytes", "tcp")]).unwrap_err();
        assert!(e.problem.contains("215B") && e.remedy.contains("214B"), "{e}");
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
