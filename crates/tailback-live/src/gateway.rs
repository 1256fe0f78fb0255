//! The box in real time: two devices, one thread, and the monotonic clock.
//!
//! The network inside is advanced on demand. When a packet arrives, every event that was due until then is processed
//! first, at its own time. Between packets the thread sleeps until shortly before the next event, and then polls the
//! clock and the devices. A late wake-up delays one emission but not the next. The lateness of each emission is
//! counted, and so is the real service rate of the first link. A run in which too many emissions were too late reports
//! that it is not valid.

use crate::crossing::{BoxSide, Crossing};
use crate::device::{self, Device, Got, LARGEST};
use crate::sys;
use std::io;
use tailback_base::{Duration, Time};
use tailback_sim::measure::histogram::Histogram;

/// The most packets taken from one device before the other is read.
const BATCH: usize = 32;
/// The interval at which the gateway asks its caller whether to continue.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time zero, on the monotonic clock, ns.
    pub begin: u64,
    pub end: Time,
    /// The time before a due instant in which the thread polls instead of sleeping.
    pub watch: Duration,
    /// Use real-time priority, if the user may.
    pub real_time: bool,
}

/// Quality and cost of a run of the gateway.
#[derive(Clone, Debug, Default)]
pub struct Quality {
    /// The lateness with which packets were written.
    pub lateness: Histogram,
    /// Packets that a device did not accept.
    pub refused: u64,
    /// Frames that do not carry IP: they bypass the network, without delay.
    pub beside: u64,
    /// Frames that did not fit into an interface's socket, or that no known card can cut into segments.
    pub lost: u64,
    /// Processor time of the gateway, ns, including polling.
    pub cpu: u64,
    /// Time in which the gateway had packets to move, ns.
    pub working: u64,
    pub real_time: bool,
    /// Present time of the run.
    pub now: Time,
}

/// A device stopped working.
#[derive(Debug)]
pub struct Gone {
    pub side: BoxSide,
    pub error: io::Error,
}

struct Running<'a> {
    devices: [&'a Device; 2],
    begin: u64,
    quality: Quality,
    gone: Option<Gone>,
}

impl Running<'_> {
    fn now(&self) -> Time {
        Time(sys::monotonic().saturating_sub(self.begin))
    }

    fn write(&mut self, side: BoxSide, packet: &[u8], due: Time) -> Time {
        let now = self.now();
        if self.hand(side, packet) {
            self.quality.lateness.add(now.since(due));
        }
        now
    }

    /// Write a packet; returns whether the device has accepted it.
    fn hand(&mut self, side: BoxSide, packet: &[u8]) -> bool {
        match self.devices[side as usize].write(packet) {
            Ok(true) => return true,
            Ok(false) => {}
            // If a network is down or the device refuses a packet, the device still exists.
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EIO | libc::EINVAL | libc::ENOBUFS | libc::EMSGSIZE)
                ) => {}
            Err(error) => {
                self.gone = Some(Gone { side, error });
                return false;
            }
        }
        self.quality.refused += 1;
        false
    }

    /// Read the frames that the devices have; returns whether there were any.
    fn take(&mut self, crossing: &mut Crossing, buffer: &mut [u8]) -> Result<bool, Gone> {
        let mut any = false;
        for side in [BoxSide::Near, BoxSide::Far] {
            let device = self.devices[side as usize];
            for _ in 0..BATCH {
                let read_result = device.read(buffer, &mut |packet, ip| match ip {
                    Some(ip) => {
                        crossing.enter(self.now(), side, packet, ip);
                    }
                    None => self.quality.beside += u64::from(self.hand(side.other(), packet)),
                });
                match read_result.map_err(|error| Gone { side, error })? {
                    Got::Nothing => break,
                    Got::Packets => {}
                    Got::Unknown => self.quality.lost += 1,
                }
                any = true;
            }
        }
        Ok(any)
    }
}

/// Run until the end, or until `go_on` returns false. The devices are those of the near and the far side.
///
/// # Errors
/// A device no longer exists.
pub fn run(
    crossing: &mut Crossing,
    devices: [&Device; 2],
    settings: Settings,
    go_on: &mut dyn FnMut(&Crossing, &Quality) -> bool,
) -> Result<Quality, Gone> {
    let mut r = Running {
        devices,
        begin: settings.begin,
        quality: Quality::default(),
        gone: None,
    };
    sys::exact_timers();
    r.quality.real_time = settings.real_time && sys::set_real_time(true).is_ok();
    let done = cycle(&mut r, crossing, settings, go_on);
    if r.quality.real_time {
        // The rest of the work is not urgent, so it needs no real-time priority.
        let _ = sys::set_real_time(false);
    }
    done.map(|()| r.quality)
}

fn cycle(
    r: &mut Running<'_>,
    crossing: &mut Crossing,
    settings: Settings,
    go_on: &mut dyn FnMut(&Crossing, &Quality) -> bool,
) -> Result<(), Gone> {
    let mut buffer = vec![0; LARGEST];
    let cpu = sys::thread_cpu();
    let (mut ask, mut written) = (Time::ZERO, 0);
    let mut rest = Rest {
        since: Time::ZERO,
        slept: Duration::ZERO,
    };
    loop {
        let now = r.now();
        if now >= settings.end {
            r.quality.now = settings.end;
            crossing.advance(settings.end, &mut |side, packet, due| r.write(side, packet, due));
            return Ok(());
        }
        crossing.advance(now, &mut |side, packet, due| r.write(side, packet, due));
        if let Some(failure) = r.gone.take() {
            return Err(failure);
        }
        let emitted = r.quality.lateness.count() != written;
        written = r.quality.lateness.count();
        let busy = r.take(crossing, &mut buffer)?;
        if busy || emitted {
            r.quality.working += r.now().since(now).0;
        }
        if now >= ask {
            ask = now + ASK_EVERY;
            (r.quality.now, r.quality.cpu) = (now, sys::thread_cpu() - cpu);
            r.quality.lost += r.devices.iter().map(|d| d.lost()).sum::<u64>();
            if !go_on(crossing, &r.quality) {
                return Ok(());
            }
        }
        rest.keep(r, now);
        if busy {
            continue;
        }
        let due = crossing.due().unwrap_or(Time::NEVER).min(settings.end).min(ask);
        let begin = r.now();
        let wait = due.since(begin);
        if wait > settings.watch {
            device::wait(r.devices, Duration(wait.0 - settings.watch.0));
            rest.slept.0 += r.now().since(begin).0;
        }
    }
}

/// If a real-time thread leaves less than 5 % of a second to others, the kernel stops it for 50 ms. This thread
/// therefore leaves them a tenth, in pauses that are too short to matter.
struct Rest {
    since: Time,
    slept: Duration,
}

/// The length of a period. In each period the thread sleeps for at least the time below.
const PERIOD: Duration = Duration::from_micros(2000);
const LEAST_REST: Duration = Duration::from_micros(200);

impl Rest {
    /// Pause, if a pause is due.
    fn keep(&mut self, r: &Running<'_>, now: Time) {
        if now.since(self.since) < PERIOD {
            return;
        }
        if r.quality.real_time && self.slept < LEAST_REST {
            sys::pause(Duration(LEAST_REST.0 - self.slept.0));
        }
        (self.since, self.slept) = (r.now(), Duration::ZERO);
    }
}
