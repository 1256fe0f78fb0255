//! Each law against a mutant of a table that breaks it.

use tailback_scenario::{Loaded, load_text};
use tailback_sim::build::hooks::Hooks;
use tailback_sim::library::Library;
use tailback_sim::results::laws::check;
use tailback_sim::results::outcome::Outcome;
use tailback_sim::results::table::{Data, Table};
use tailback_sim::run::run;

const LINE: &str = r#"
duration = "5s"
interval = "500ms"
[link.line]
from = "a"
to = "b"
rate = "10Mbps"
delay = "10ms"
queue = { kind = "red", buffer = "40 packets" }
[flows.bulk]
count = 2
[flows.paced]
transport = "udp"
traffic = { kind = "cbr", rate = "1Mbps" }
[flows.drawn]
transport = "udp"
traffic = { kind = "poisson", rate = "1Mbps" }
"#;

fn made() -> (Loaded, Outcome) {
    let loaded = load_text(LINE, "line.toml", &[]).unwrap();
    let outcome = run(&loaded.spec, 1, &Hooks::default()).unwrap();
    (loaded, outcome)
}

fn said(loaded: &Loaded, outcome: &Outcome) -> Result<(), String> {
    check(outcome, &loaded.spec, Library::standard(), 5.0)
}

#[test]
fn a_run_breaks_no_law() {
    let (loaded, outcome) = made();
    assert_eq!(said(&loaded, &outcome), Ok(()));
    assert!(outcome["losses"].rows() > 0 && outcome["intervals"].rows() == 40);
}

#[test]
fn each_mutant_of_a_table_breaks_its_law() {
    let (loaded, outcome) = made();
    for (table, column, factor, law) in [
        ("links", "sojourn_p50_s", 100.0, "the quantiles of sojourn"),
        ("links", "utilisation", 1.3, "utilisation = 1."),
        ("link_intervals", "utilisation", -1.0, "utilisation = -"),
        ("flows", "goodput_bps", 1.01, "over its intervals"),
        ("link_intervals", "throughput_bps", 0.99, "over its intervals"),
        ("losses", "packets", 2.0, "drops by reason"),
        ("groups", "goodput_bps_sum", 1.01, "goodput_bps_sum of bulk"),
        ("groups", "sent_packets", 2.0, "sent_packets of bulk"),
    ] {
        let mut mutant = outcome.clone();
        change(&mut mutant, table, column, |_, x| x * factor);
        let said = said(&loaded, &mutant).unwrap_err();
        assert!(said.contains(law), "{table}.{column}: {said}");
    }
    for group in ["paced", "drawn"] {
        let mut mutant = outcome.clone();
        for table in ["flows", "groups"] {
            let row = row_of(&outcome[table], "group", group);
            change(
                &mut mutant,
                table,
                "sent_packets",
                |i, x| if i == row { x * 1.5 } else { x },
            );
        }
        let said = said(&loaded, &mutant).unwrap_err();
        assert!(said.contains("packets were sent where"), "{said}");
    }
}

fn change(outcome: &mut Outcome, table: &str, column: &str, to: impl Fn(usize, f64) -> f64) {
    let table = outcome.tables.iter_mut().find(|t| t.name == table).unwrap();
    let column = table.columns.iter_mut().find(|c| c.name == column).unwrap();
    match &mut column.data {
        Data::Real(all) => all.iter_mut().enumerate().for_each(|(i, x)| *x = to(i, *x)),
        Data::Count(all) => all
            .iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = to(i, *x as f64) as u64),
        Data::Text(_) => panic!("{} has texts", column.name),
    }
}

/// The first row with this text in a column.
fn row_of(t: &Table, column: &str, text: &str) -> usize {
    match t.column(column).map(|c| &c.data) {
        Some(Data::Text(all)) => all.iter().position(|x| **x == *text).unwrap(),
        _ => panic!("no column of text {column}"),
    }
}
