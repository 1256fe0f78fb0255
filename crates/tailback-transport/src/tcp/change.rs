//! A change of the congestion control of open connections.
//!
//! The change is made once for all connections of a group, when a scenario is read, and these connections share it.
//! Each connection only needs a new controller. Window and threshold stay, and the new controller continues from these
//! values ([`CongestionControl::take_over`](super::CongestionControl::take_over)).

use super::config::{Asked, Config, EcnMode, Misfit};
use super::congestion::{CongestionControl, Controller, EchoRule};
use super::params::{ECN, MODEL};
use super::{draw_controller, resolve};
use std::sync::Arc;
use tailback_base::model::{NamedValues, Value};
use tailback_base::quantity::Refusal;
use tailback_base::{Ecn, Settings, Stream};

/// The parameters of open connections, with another congestion control.
#[derive(Clone, Debug)]
pub struct ControlChange(Arc<Config>);

/// The options that a connection negotiates when it opens. The control cannot change these options later.
fn agreed(control: &Controller) -> (EchoRule, Ecn) {
    (control.facts.echo, control.facts.codepoint)
}

impl ControlChange {
    /// Make a change from the parameters with which the connections were made, and a value of `congestion`. `own` are
    /// profiles in addition to the built-in ones, and `controllers` are the congestion controls to choose from.
    ///
    /// # Errors
    /// The transport has no congestion control, the congestion control does not exist, or it needs another kind of ECN
    /// feedback than the connections have agreed on.
    pub fn new(
        settings: &Settings,
        congestion: &Value,
        own: &[NamedValues],
        controllers: &[&'static Controller],
    ) -> Result<ControlChange, Refusal> {
        if settings.model.name != MODEL.name {
            return Err(Refusal::new(
                format!(
                    "the transport \"{}\" has no congestion control to change",
                    settings.model.name
                ),
                format!("name flows whose transport is \"{}\"", MODEL.name),
            ));
        }
        let old_config = Config::resolve_with(settings, own, controllers)?;
        let (controller, controller_settings) = resolve::congestion(congestion, controllers)?;
        let new_config = Config {
            controller,
            asked: Asked::of(controller, &controller_settings, &old_config.window),
            controller_settings,
            ..old_config.clone()
        };
        if old_config.ecn != EcnMode::Off && agreed(controller) != agreed(old_config.controller) {
            return Err(disagree(&old_config, &new_config, controllers));
        }
        Ok(ControlChange(Arc::new(new_config)))
    }

    /// The congestion control, and its own parameters.
    pub fn control(&self) -> &Settings {
        &self.0.controller_settings
    }

    /// Why the control and the ECN that the connections have negotiated do not fit each other; `None` if they do.
    pub fn misfit(&self) -> Option<Misfit> {
        self.0.misfit()
    }

    pub(super) fn config(&self) -> &Arc<Config> {
        &self.0
    }

    /// The controller of one connection. Its random choices are drawn from `rng`.
    pub(super) fn controller(&self, rng: &mut Stream) -> Box<dyn CongestionControl> {
        draw_controller(&self.0, rng)
    }

    /// Whether a connection with these parameters already has this control.
    pub(super) fn is_in(&self, cfg: &Config) -> bool {
        std::ptr::eq(self.0.controller, cfg.controller) && self.0.controller_settings == cfg.controller_settings
    }
}

fn disagree(before: &Config, after: &Config, controllers: &[&'static Controller]) -> Refusal {
    let (old, new) = (before.controller.model.name, after.controller.model.name);
    let fits =
        |c: &&Controller| Settings::defaults(c.model).missing().is_none() && agreed(c) == agreed(before.controller);
    let names = controllers.iter().copied().filter(fits).map(|c| c.model.name);
    let other_names: Vec<String> = names.filter(|n| *n != old).map(|n| format!("\"{n}\"")).collect();
    let ecn_remedy = format!("give {} = \"off\" to these flows", ECN.name);
    Refusal::new(
        format!(
            "\"{new}\" needs other ECN marks or echoes than \"{old}\", but a connection agrees on them when it opens"
        ),
        match other_names.is_empty() {
            true => ecn_remedy,
            false => format!("{ecn_remedy}, or change to one of {}", other_names.join(", ")),
        },
    )
}
