//! The values that a plan varies. An axis is an ordered list of combinations; a product of axes, or several axes in
//! step, is an axis again.
//!
//! Sweep files, the axes and cases of studies, and `Plan.product` of Python all use this type.

/// A value of an axis, or of several at once: its label on each, and the overrides that it stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Combination {
    pub labels: Vec<(String, String)>,
    /// The overrides, in the form of `--set`; later ones override earlier ones.
    pub overrides: Vec<String>,
}

/// Combinations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis(pub Vec<Combination>);

impl Axis {
    /// One varied quantity: each value is set on every path, and is its own label.
    pub fn of_values(label: &str, paths: &[String], values: &[String]) -> Axis {
        let combination = |v: &String| Combination {
            labels: vec![(label.to_string(), v.clone())],
            overrides: paths.iter().map(|p| format!("{p}={v}")).collect(),
        };
        Axis(values.iter().map(combination).collect())
    }

    /// The name of this axis in messages.
    fn name(&self) -> String {
        let labels = self.0.first().map_or(&[][..], |c| &c.labels);
        labels.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Every combination of the axes; the last one varies fastest.
pub fn product(axes: &[Axis]) -> Axis {
    axes.iter().fold(Axis(vec![Combination::default()]), |all, axis| {
        Axis(all.0.iter().flat_map(|c| axis.0.iter().map(|v| joined(c, v))).collect())
    })
}

/// The axes in step: their first values together, then their second values, and so on.
///
/// # Errors
/// Axes of different lengths.
pub fn zip(axes: &[Axis]) -> Result<Axis, String> {
    let n = axes.first().map_or(0, |a| a.0.len());
    if let Some(uneven) = axes.iter().find(|a| a.0.len() != n) {
        return Err(format!(
            "zip needs axes of one length: {} has {} values, {} has {n}",
            uneven.name(),
            uneven.0.len(),
            axes[0].name()
        ));
    }
    let step = |i: usize| {
        axes.iter()
            .fold(Combination::default(), |c, axis| joined(&c, &axis.0[i]))
    };
    Ok(Axis((0..n).map(step).collect()))
}

/// Every combination with the values that its label `by` has in `values`: an axis that depends on another. The new
/// values vary fastest.
///
/// # Errors
/// A combination without this label, or whose label has no values.
pub fn dependent(all: &Axis, by: &str, values: &[(String, Axis)]) -> Result<Axis, String> {
    let mut combinations = vec![];
    for c in &all.0 {
        let Some((_, label)) = c.labels.iter().find(|(name, _)| name == by) else {
            return Err(format!("there is no axis {by} before it"));
        };
        let Some((_, axis)) = values.iter().find(|(of, _)| of == label) else {
            return Err(format!("there are no values for {by} = {label}"));
        };
        combinations.extend(axis.0.iter().map(|v| joined(c, v)));
    }
    Ok(Axis(combinations))
}

fn joined(a: &Combination, b: &Combination) -> Combination {
    let mut c = a.clone();
    c.labels.extend(b.labels.iter().cloned());
    c.overrides.extend(b.overrides.iter().cloned());
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(label: &str, values: &[&str]) -> Axis {
        let values: Vec<String> = values.iter().map(|v| v.to_string()).collect();
        Axis::of_values(label, &[format!("link.b.{label}")], &values)
    }

    fn texts(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
    }

    #[test]
    fn product_runs_the_last_axis_fastest_and_zip_walks_in_step() {
        let axes = [axis("queue", &["red", "blue"]), axis("buffer", &["1", "2", "3"])];
        let p = product(&axes).0;
        assert_eq!(p.len(), 6);
        assert_eq!(p[1].overrides, ["link.b.queue=red", "link.b.buffer=2"]);
        let why = zip(&axes).unwrap_err();
        assert!(why.contains("buffer has 3 values, queue has 2"), "{why}");
        let z = zip(&[axis("queue", &["red", "blue"]), axis("buffer", &["1", "2"])])
            .unwrap()
            .0;
        assert_eq!(z[1].labels, texts(&[("queue", "blue"), ("buffer", "2")]));
    }

    #[test]
    fn an_axis_may_have_other_values_at_each_value_of_another() {
        let rates = axis("rate", &["5", "50"]);
        let targets = [
            ("5".to_string(), axis("target", &["10"])),
            ("50".to_string(), axis("target", &["1", "2"])),
        ];
        let all = dependent(&rates, "rate", &targets).unwrap();
        let overrides: Vec<String> = all.0.iter().map(|c| c.overrides.join(" ")).collect();
        assert_eq!(
            overrides,
            [
                "link.b.rate=5 link.b.target=10",
                "link.b.rate=50 link.b.target=1",
                "link.b.rate=50 link.b.target=2"
            ]
        );
        let why = dependent(&rates, "rate", &targets[..1]).unwrap_err();
        assert!(why.contains("no values for rate = 50"), "{why}");
        assert!(
            dependent(&rates, "delay", &targets)
                .unwrap_err()
                .contains("no axis delay")
        );
    }

    #[test]
    fn axes_in_step_are_an_axis_that_can_be_multiplied() {
        let step = zip(&[axis("queue", &["red", "blue"]), axis("buffer", &["1", "2"])]).unwrap();
        let all = product(&[step, axis("rate", &["5", "6"])]).0;
        assert_eq!(all.len(), 4);
        assert_eq!(
            all[3].labels,
            texts(&[("queue", "blue"), ("buffer", "2"), ("rate", "6")])
        );
        assert_eq!(product(&[]).0, [Combination::default()]);
    }
}
