//! The list of meters that a scenario can name, with one entry each.

use super::meters::Meters;
use super::params::{CLASS, PER, POLICE};
use super::{MeterRow, marking_engine, srtcm, token_bucket, trtcm, tsw2cm, tsw3cm};
use tailback_base::model::Registry;
use tailback_base::quantity::Refusal;
use tailback_base::{Settings, Stream};

const ROWS: &[MeterRow] = &[
    token_bucket::ROW,
    srtcm::ROW,
    trtcm::ROW,
    tsw2cm::ROW,
    tsw3cm::ROW,
    marking_engine::ROW,
];

/// All meters, in the order of the reference page. A caller may add its own meters to a copy.
#[derive(Clone)]
pub struct MeterList(Registry<MeterRow>);

impl MeterList {
    /// The meters of tailback.
    pub fn standard() -> MeterList {
        MeterList(Registry::new(ROWS.iter().copied()))
    }

    pub fn rows(&self) -> &Registry<MeterRow> {
        &self.0
    }

    pub fn add(&mut self, row: MeterRow) {
        self.0.add(row);
    }

    /// The meter that these settings of a meter's model describe. It draws random numbers from `stream`.
    ///
    /// # Errors
    /// The model is not in the list, or parameters contradict each other.
    pub fn build(&self, settings: &Settings, stream: Stream) -> Result<Meters, Refusal> {
        let name = settings.model.name;
        let row = *self.0.row(name)?;
        if let Some(missing) = settings.missing() {
            let remedy = format!("give {}", missing.kind.allowed());
            return Err(Refusal::new(format!("{name} needs {}", missing.name), remedy));
        }
        Meters::new(row, settings.clone(), settings.get(&PER), stream)
    }

    /// The meter that a conditioner names with one of its keys. The conditioner decides how the colours are used.
    ///
    /// # Errors
    /// The same errors as [`MeterList::build`]; and a given parameter that says how a colour is used.
    pub fn nested(&self, of: &Settings, key: &str, stream: Stream) -> Result<Meters, Refusal> {
        let Some(own) = of.nested(key) else {
            let e = Refusal::new(format!("{} has no {key}", of.model.name), "name a meter");
            return Err(e.within(key));
        };
        let not_its_own = [CLASS.name, POLICE.name, token_bucket::EXCESS.name];
        if let Some(given) = not_its_own.into_iter().find(|p| own.is_given(p)) {
            let e = Refusal::new(
                format!("{given} is given to a {key}, which only chooses the colour"),
                format!(
                    "leave it out; {} decides what happens to packets of a colour",
                    of.model.name
                ),
            );
            return Err(e.within(given).within(key));
        }
        self.build(own, stream).map_err(|e| e.within(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_base::model::Catalogue;
    use tailback_base::{Kind, Model, Param};

    static OUTER: Model = Model {
        name: "outer",
        family: "conditioner",
        title: "Outer",
        summary: "",
        source: "",
        params: &[Param::new(
            "marker",
            Kind::Model("marker"),
            "none",
            "what says the colour",
            "",
        )],
        probes: &[],
    };

    fn nested(marker: &str) -> Result<Meters, Refusal> {
        let list = MeterList::standard();
        let catalogue = Catalogue::new([list.rows().family("Meters")]);
        let of = Settings::defaults(&OUTER)
            .with("marker", marker)
            .with_models(&catalogue)?;
        list.nested(&of, "marker", Stream::new(1, "test"))
    }

    #[test]
    fn a_marker_in_a_conditioner_only_says_the_colour() {
        let tsw = "{ kind = tsw3cm, committed_rate = 1Mbps, peak_rate = 2Mbps }";
        assert!(nested(tsw).is_ok());
        for (given, name) in [("police = red", "police"), ("class = 2", "class")] {
            let e = nested(&tsw.replace("peak_rate", &format!("{given}, peak_rate")))
                .err()
                .expect("refused");
            assert_eq!(e.path, format!("marker.{name}"));
        }
        let e = nested(&tsw.replace("2Mbps", "1kbps")).err().expect("refused");
        assert!(e.problem.contains("below committed_rate") && e.path == "marker", "{e}");
    }
}
