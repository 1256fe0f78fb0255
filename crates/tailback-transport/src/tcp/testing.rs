//! Helpers of the unit tests.

use super::config::Config;
use super::params::MODEL;
use tailback_base::Settings;

/// A configuration from pairs of text.
pub fn config(values: &[(&str, &str)]) -> Config {
    let settings = values
        .iter()
        .fold(Settings::defaults(&MODEL), |s, (name, text)| s.with(name, text));
    Config::resolve(&settings, &[]).unwrap()
}
