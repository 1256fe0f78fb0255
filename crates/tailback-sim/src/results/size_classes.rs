//! Classes of sizes, as rows of tables: their edges and names, and the columns that give the class of a row.

use super::Reading;
use super::column::Column;
use super::quantity::{LARGER_THAN, NO_LARGER_THAN};
use crate::spec::SizeClasses;
use std::sync::Arc;

/// The class of all sizes, and the row over all groups.
pub(super) const ALL: &str = "all";

/// The labels that identify a row.
pub(super) struct SizeClass {
    pub group: Arc<str>,
    sizes: Arc<str>,
    over: f64,
    /// NaN if there is no largest size.
    to: f64,
}

/// A row of a table by class of sizes.
pub(super) trait OfClass {
    fn of(&self) -> &SizeClass;
}

pub(super) const fn sizes<R: OfClass>() -> Column<R> {
    Column::text(
        "sizes",
        "class of sizes: sizes up to a number of bytes, or a tenth of the requests, or all sizes",
        |r: &R| r.of().sizes.clone(),
    )
    .key()
}

pub(super) const fn over<R: OfClass>() -> Column<R> {
    let doc = "the sizes of the class are larger than this";
    Column::real("bytes_over", "bytes", doc, |r: &R| r.of().over).is(&LARGER_THAN)
}

pub(super) const fn to<R: OfClass>() -> Column<R> {
    let doc = "the sizes of the class are not larger than this; no value if the class has no largest size";
    Column::real("bytes_to", "bytes", doc, |r: &R| r.of().to).is(&NO_LARGER_THAN)
}

/// Classes, and the largest size of each, bytes; the last class has all larger sizes. Class 0 has all sizes.
pub(super) struct SizeEdges<'a> {
    classes: &'a SizeClasses,
    edges: Vec<u64>,
}

/// An item that is put into classes: it has a group and a size.
pub(super) trait Classed {
    fn group(&self) -> u32;
    fn bytes(&self) -> u64;
}

/// A value of an item, and its place in its class.
pub(super) type Measure<T, C> = (fn(&T) -> Option<f64>, fn(&mut C) -> &mut Vec<f64>);

impl SizeEdges<'_> {
    pub fn of(classes: &SizeClasses, asked: impl Iterator<Item = u64>) -> SizeEdges<'_> {
        let edges = edges(classes, asked);
        SizeEdges { classes, edges }
    }

    /// The number of classes, including the class of all sizes.
    fn count(&self) -> usize {
        self.edges.len() + 2
    }

    /// The class of this size.
    fn number(&self, bytes: u64) -> usize {
        1 + self.edges.partition_point(|to| *to < bytes)
    }

    /// The classes that have items, by group (`None` for all groups) and number. With `all` the first group is that of
    /// all groups. Values of a measure are sorted once, and are put into their classes in this order.
    pub fn classes<T: Classed, C: Default>(
        &self,
        of: &[T],
        all: bool,
        count: fn(&mut C, &T),
        measures: &[Measure<T, C>],
    ) -> Vec<(Option<u32>, usize, C)> {
        let (first_group, sizes) = (usize::from(all), self.count());
        let groups = of
            .iter()
            .map(|t| first_group + t.group() as usize + 1)
            .max()
            .unwrap_or(0);
        let mut classes: Vec<Option<C>> = Vec::new();
        classes.resize_with(groups * sizes, || None);
        let place = |t: &T| ((first_group + t.group() as usize) * sizes, self.number(t.bytes()));
        let places: Vec<(usize, usize)> = of.iter().map(place).collect();
        // The row of its group, and the row of all groups.
        let rows = |i: usize| {
            let (group, class) = places[i];
            let rows = [Some(group), all.then_some(0)];
            rows.into_iter().flatten().flat_map(move |row| [row, row + class])
        };
        for (i, t) in of.iter().enumerate() {
            rows(i).for_each(|row| count(classes[row].get_or_insert_with(C::default), t));
        }
        for (measure, kept) in measures {
            let values = of.iter().enumerate().filter_map(|(i, t)| Some((measure(t)?, i)));
            let mut sorted: Vec<(f64, usize)> = values.collect();
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for (value, i) in sorted {
                rows(i).for_each(|row| kept(classes[row].get_or_insert_with(C::default)).push(value));
            }
        }
        let group = |row: usize| (row / sizes).checked_sub(first_group).map(|g| g as u32);
        let used = classes.into_iter().enumerate();
        used.filter_map(|(row, class)| Some((group(row), row % sizes, class?)))
            .collect()
    }

    /// The class with this number, of a group or of all groups.
    pub fn class(&self, group: Option<Arc<str>>, number: usize) -> SizeClass {
        let edge = |i: usize| self.edges.get(i).map(|to| *to as f64);
        SizeClass {
            group: group.unwrap_or(ALL.into()),
            sizes: name(self.classes, number),
            over: number.checked_sub(2).and_then(edge).unwrap_or(0.0),
            to: number.checked_sub(1).and_then(edge).unwrap_or(f64::NAN),
        }
    }
}

/// Whether there are rows over all groups: several of these groups have items, and no group of the run has the name of
/// such rows.
pub(super) fn over_all(reading: &Reading, mut groups: Vec<u32>) -> bool {
    groups.sort_unstable();
    groups.dedup();
    groups.len() > 1 && (0..reading.groups()).all(|g| &*reading.group(g as u32) != ALL)
}

/// The largest sizes of the classes, bytes.
fn edges(classes: &SizeClasses, asked: impl Iterator<Item = u64>) -> Vec<u64> {
    match classes {
        SizeClasses::To(edges) => edges.clone(),
        SizeClasses::Deciles => {
            let mut sizes: Vec<u64> = asked.collect();
            sizes.sort_unstable();
            // The smallest size that this many tenths do not exceed.
            let tenth = |i: usize| sizes.get((i * sizes.len()).div_ceil(10).saturating_sub(1)).copied();
            (1..10).filter_map(tenth).collect()
        }
    }
}

/// The name of a class; class 0 has all sizes. The name of a tenth is the same in all runs.
fn name(classes: &SizeClasses, class: usize) -> Arc<str> {
    let Some(class) = class.checked_sub(1) else {
        return ALL.into();
    };
    match classes {
        SizeClasses::Deciles => format!("decile {}", class + 1).into(),
        SizeClasses::To(edges) => match (edges.get(class), edges.last()) {
            (Some(to), _) => format!("to {}", shown(*to)).into(),
            (None, last) => format!("over {}", shown(last.copied().unwrap_or(0))).into(),
        },
    }
}

/// A number of bytes, exact.
fn shown(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{} MB", bytes as f64 / 1e6),
        _ => format!("{} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deciles_have_a_tenth_each() {
        let of = |sizes: Vec<u64>| edges(&SizeClasses::Deciles, sizes.into_iter());
        assert_eq!(of((1..=100).collect()), [10, 20, 30, 40, 50, 60, 70, 80, 90]);
        assert_eq!(of(vec![7, 7, 7, 9]), [7, 7, 7, 7, 7, 7, 7, 9, 9]);
        assert!(of(vec![]).is_empty());
    }

    #[test]
    fn names_are_exact() {
        let classes = SizeClasses::To(vec![1_000, 12_345, 2_500_000]);
        let names: Vec<Arc<str>> = (0..5).map(|class| name(&classes, class)).collect();
        let expected = ["all", "to 1 kB", "to 12.345 kB", "to 2.5 MB", "over 2.5 MB"];
        assert_eq!(names, expected.map(Arc::from));
        assert_eq!(&*name(&SizeClasses::Deciles, 10), "decile 10");
    }
}
