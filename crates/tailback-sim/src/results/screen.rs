//! Recorded series for a screen: of all points in a column of pixels only the first, least, greatest and last.
//!
//! A line through these four covers the same pixels as a line through all points (Jugel, Jerzak, Hackenbroich and
//! Markl, M4: a visualization-oriented time series data aggregation, VLDB 2014). A point costs two comparisons.

use super::table::{Data, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One series, reduced.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenLine {
    pub what: Arc<str>,
    pub probe: Arc<str>,
    pub index: u64,
    pub times: Vec<f32>,
    pub values: Vec<f32>,
}

/// One series with all its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    pub probe: Arc<str>,
    pub times: Vec<f64>,
    pub values: Vec<f64>,
}

/// The columns of a table `series`.
struct SeriesColumns<'a> {
    what: &'a [Arc<str>],
    probe: &'a [Arc<str>],
    index: &'a [u64],
    times: &'a [f64],
    values: &'a [f64],
}

impl<'a> SeriesColumns<'a> {
    fn of(series: &'a Table) -> Option<SeriesColumns<'a>> {
        let find = |name| series.column(name).map(|c| &c.data);
        let (Data::Text(what), Data::Text(probe)) = (find("what")?, find("probe")?) else {
            return None;
        };
        let (Data::Count(index), Data::Real(times), Data::Real(values)) =
            (find("index")?, find("time_s")?, find("value")?)
        else {
            return None;
        };
        Some(SeriesColumns {
            what,
            probe,
            index,
            times,
            values,
        })
    }

    /// The rows of each series that is wanted. Points of an indexed probe alternate.
    fn rows(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Vec<usize>> {
        let mut place: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        let mut rows: Vec<Vec<usize>> = vec![];
        let mut first_row = 0;
        for i in 0..self.what.len() {
            if i > 0 && !(same(&self.what[i], &self.what[i - 1]) && same(&self.probe[i], &self.probe[i - 1])) {
                first_row = i;
            }
            if !wanted(&self.probe[i]) {
                continue;
            }
            let next = rows.len();
            let position = *place.entry((first_row, self.index[i])).or_insert(next);
            if position == next {
                rows.push(vec![]);
            }
            rows[position].push(i);
        }
        rows
    }
}

/// The wanted series of a table `series`, with at most four points in each of this number of columns; in the order of
/// the table.
pub fn lines(series: &Table, columns: usize, wanted: &dyn Fn(&str) -> bool) -> Vec<ScreenLine> {
    let Some(c) = SeriesColumns::of(series) else {
        return vec![];
    };
    let reduced = |rows: &Vec<usize>| {
        let (times, values) = reduce(rows, c.times, c.values, columns);
        let first_row = rows[0];
        ScreenLine {
            what: c.what[first_row].clone(),
            probe: c.probe[first_row].clone(),
            index: c.index[first_row],
            times,
            values,
        }
    };
    c.rows(wanted).iter().map(reduced).collect()
}

/// The wanted series with all points.
pub fn whole(series: &Table, wanted: &dyn Fn(&str) -> bool) -> Vec<Whole> {
    let Some(c) = SeriesColumns::of(series) else {
        return vec![];
    };
    let series_of = |rows: &Vec<usize>| Whole {
        probe: c.probe[rows[0]].clone(),
        times: rows.iter().map(|r| c.times[*r]).collect(),
        values: rows.iter().map(|r| c.values[*r]).collect(),
    };
    c.rows(wanted).iter().map(series_of).collect()
}

/// Texts of one series are one allocation, so their addresses are compared first.
fn same(a: &Arc<str>, b: &Arc<str>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// The points of the rows that a screen with this number of columns shows.
fn reduce(rows: &[usize], times: &[f64], values: &[f64], columns: usize) -> (Vec<f32>, Vec<f32>) {
    let (begin_s, end_s) = (times[rows[0]], times[rows[rows.len() - 1]]);
    let width = (end_s - begin_s) / columns.max(1) as f64;
    let mut kept_rows: Vec<usize> = Vec::with_capacity(rows.len().min(4 * columns));
    if rows.len() <= 4 * columns.max(1) || width <= 0.0 {
        kept_rows.extend_from_slice(rows);
    } else {
        let column_of = |row: usize| (((times[row] - begin_s) / width) as usize).min(columns - 1);
        for group in rows.chunk_by(|a, b| column_of(*a) == column_of(*b)) {
            let by = |a: &&usize, b: &&usize| values[**a].total_cmp(&values[**b]);
            let least = group.iter().min_by(by).unwrap_or(&group[0]);
            let most = group.iter().max_by(by).unwrap_or(&group[0]);
            let mut four = [group[0], *least, *most, group[group.len() - 1]];
            four.sort_unstable();
            kept_rows.extend_from_slice(&four);
        }
        kept_rows.dedup();
    }
    let at_kept = |all: &[f64]| kept_rows.iter().map(|row| all[*row] as f32).collect();
    (at_kept(times), at_kept(values))
}

#[cfg(test)]
mod tests {
    use super::reduce;

    #[test]
    fn a_spike_of_one_sample_is_kept() {
        let times: Vec<f64> = (0..10_000).map(|i| f64::from(i) * 0.001).collect();
        let mut values = vec![5.0; times.len()];
        values[4321] = 99.0;
        values[7777] = -3.0;
        let rows: Vec<usize> = (0..times.len()).collect();
        let (t, v) = reduce(&rows, &times, &values, 100);
        assert!(t.len() <= 400 && t.len() == v.len());
        let at = v.iter().position(|x| *x == 99.0).expect("the greatest value is kept");
        assert_eq!(t[at], 4.321);
        assert!(v.contains(&-3.0));
        assert!(t.windows(2).all(|w| w[0] <= w[1]));
        assert_eq!((t[0], t[t.len() - 1]), (0.0, 9.999));
    }

    #[test]
    fn a_short_series_is_kept_whole() {
        let (times, values) = ([0.0, 1.0, 1.0], [3.0, 2.0, 1.0]);
        assert_eq!(
            reduce(&[0, 1, 2], &times, &values, 50),
            (vec![0.0, 1.0, 1.0], vec![3.0, 2.0, 1.0])
        );
    }
}
