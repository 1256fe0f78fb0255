//! The load of sessions: how many transfers they may request, and how many connections may be open at one time.
//!
//! A client that waits sends at most one request per pause and round trip. A client that does not wait is a Poisson
//! process, and transfers that the line cannot carry stay open. Apart from that, no more transfers end than the line
//! carries.

use super::traffic::{Brings, ControlFacts, again, first_start, over, window_cap};
use tailback_sim::library::Library;
use tailback_sim::spec::{SessionSpec, Spec};
use tailback_sim::traffic::session::Asks;
use tailback_sim::traffic::session::incast::TOTAL;
use tailback_transport::tcp::params::HEADER;

/// The lifetime of a connection in round trips and in seconds, in addition to the time for its data: its opening, the
/// last timer, sometimes a lost SYN.
const LIVES: (f64, f64) = (6.0, 1.0);
/// Bytes of a transfer on the wire in addition to its payload, in both directions.
const BESIDE: f64 = 200.0;

/// The load of the sessions of a table; `slowest` is the slowest line on their path, bit/s, and `round_trip` the
/// least round trip.
pub fn brings(spec: &Spec, s: &SessionSpec, library: &Library, slowest: f64, round_trip: f64) -> Brings {
    let connection = library.transports.connection(&s.transport).ok().flatten();
    let segment = connection.as_ref().map_or(1460.0, |c| f64::from(c.segment_bytes()));
    let packet = segment + s.transport.number(HEADER.name).unwrap_or(0.0);
    let two_way = connection
        .as_ref()
        .is_some_and(tailback_transport::Connection::is_two_way);
    let seconds = (spec.duration.seconds() - first_start(&s.start)).max(0.0);
    let mut asks = (s.kind.asks)(&s.settings);
    let servers = f64::from(s.servers_at_once());
    (asks.transfers, asks.at_once) = (asks.transfers * servers, asks.at_once * servers);
    if s.settings.find_key(&TOTAL).flatten().is_some() {
        asks.bytes /= servers;
    }
    let (transfers, open) = load(s, &asks, seconds, slowest, round_trip);
    // There is one connection for each direction, unless one connection serves both.
    let connections = open
        * if two_way || s.kind.model.name == "schedule" {
            1.0
        } else {
            2.0
        };
    let cap = window_cap(&s.transport, packet);
    let per_transfer = 10.0 * asks.bytes / packet + 4.0;
    Brings {
        flows: if seconds > 0.0 { connections } else { 0.0 },
        connection: true,
        // The data of connections that applications open are released with the connections.
        from_outside: false,
        packet,
        answer: None,
        seconds,
        rate: f64::INFINITY,
        at_once: 0.0,
        packets: transfers * per_transfer + connections,
        cap,
        first: 10.0_f64.min(per_transfer).min(cap),
        again: again(&s.transport, seconds, cap),
        portions: transfers,
        control: ControlFacts::of(&s.transport, library),
    }
}

/// The number of transfers that are requested in the whole run, and the number that are open at one time.
fn load(s: &SessionSpec, asks: &Asks, seconds: f64, slowest: f64, round_trip: f64) -> (f64, f64) {
    let clients = f64::from(s.clients);
    let by_line = seconds * slowest / 8.0 / (asks.bytes + BESIDE);
    let pause = if asks.open { asks.gap } else { asks.gap + round_trip };
    let requests = over(seconds, pause).min(asks.most);
    let asked_transfers = clients * requests * asks.transfers;
    let asked_transfers = asked_transfers + 4.0 * asked_transfers.sqrt();
    let waiting = clients * asks.at_once;
    if !asks.open {
        let transfers = asked_transfers.min(by_line + waiting);
        let closing = if asks.new_connections { 2.0 } else { 1.0 };
        return (transfers, (waiting * closing).min(transfers + clients));
    }
    // Transfers that arrive faster than they end stay open, and each one lives for a while.
    let per_second = asked_transfers / seconds.max(1e-9);
    let stays = (asked_transfers - 0.7 * by_line).max(0.0);
    let alive = per_second * (LIVES.0 * round_trip + LIVES.1);
    let open = (stays + alive + 4.0 * alive.sqrt() + clients)
        .min(asked_transfers)
        .max(waiting);
    (asked_transfers, open)
}
