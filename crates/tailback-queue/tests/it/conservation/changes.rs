//! What every discipline owes its driver when its values change in the middle: its own settings change nothing, or are
//! refused, and another buffer loses no packet.

use super::*;
use std::cell::Cell;

/// As a reader of scenarios makes them: with the values of the profile, and models where they are named.
pub(crate) fn read(settings: Settings) -> Settings {
    let laid = settings.with_profile(&[]).unwrap();
    laid.with_models(Registry::<TestPacket>::standard().nested()).unwrap()
}

/// What a run did with these settings, and what can be read of it, where in the middle the discipline goes on with the
/// `next`; none where it refuses them.
fn changed(books: Books, settings: &Settings, seed: u64, ops: &[Op], next: Option<&Settings>) -> Changed {
    let (mut books, mut q) = (books, build(settings, seed).unwrap());
    let (before, after) = ops.split_at(ops.len() / 2);
    for op in before {
        books.perform(&mut q, op)?;
    }
    if let Some(Err(refusal)) = next.map(|settings| q.reconfigure(settings)) {
        ensure!(!refusal.problem.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
        return Ok(None);
    }
    for op in after {
        books.perform(&mut q, op)?;
    }
    let probes = (0..q.probes().len()).flat_map(|i| [0, 1, 7].map(|index| (i, index)));
    let read = probes
        .map(|(i, index)| q.read(ProbeId(i as u16), index).to_bits())
        .collect();
    books.drain(&mut q)?;
    Ok(Some((books.trace, read)))
}

/// A trace, and the bits of the probes.
type Changed = Result<Option<(Trace, Vec<u64>)>, String>;

#[test]
fn its_own_settings_change_nothing_or_are_refused() {
    let taken = Cell::new(0);
    for model in registry::models() {
        let result = runner(60).run(&input(), |(seed, ops)| {
            let settings = read(settings(model, seed));
            let run = |next| changed(books_of(&settings), &settings, seed, &ops, next).map_err(TestCaseError::fail);
            if let Some(told) = run(Some(&settings))? {
                prop_assert_eq!(Some(told), run(None)?, "with {:?}", settings);
                taken.set(taken.get() + 1);
            }
            Ok(())
        });
        if let Err(e) = result {
            panic!("{}: {e}", model.name);
        }
    }
    let taken = taken.get();
    assert!(taken > 1000, "{taken} runs took their settings");
}

/// Half the buffer in the middle: packets are conserved, and never more wait than the larger one holds.
#[test]
fn a_smaller_buffer_loses_no_packet() {
    for model in registry::models().filter(|m| m.param("buffer").is_some_and(|p| p.kind == Kind::Size)) {
        let result = runner(60).run(&input(), |(seed, ops)| {
            let settings = read(settings(model, seed));
            let smaller = settings.clone().with(
                "buffer",
                &match settings.size("buffer") {
                    Size::Bytes(n) => format!("{}B", n.div_ceil(2)),
                    Size::Packets(n) => format!("{} packets", n.div_ceil(2)),
                    Size::Unlimited => "3 packets".into(),
                },
            );
            let run = changed(books_of(&settings), &settings, seed, &ops, Some(&smaller));
            run.map(|_| ())
                .map_err(|e| TestCaseError::fail(format!("{e}\nwith {settings:?}")))
        });
        if let Err(e) = result {
            panic!("{}: {e}", model.name);
        }
    }
}
