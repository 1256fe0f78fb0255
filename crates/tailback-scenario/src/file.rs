//! Reads the text of a scenario file, with a clear message for each way in which that can fail.

use super::document::Document;
use super::error::{At, Problem, ScenarioError};
use crate::regular::open;
use std::io::Read;
use std::path::{Path, PathBuf};

/// No scenario is longer, so a longer file is the wrong one.
pub const LONGEST_FILE: u64 = 64_000_000;

pub fn read_text(path: &Path) -> Result<String, ScenarioError> {
    let name = path.display().to_string();
    let fail = |problem: String, remedy: String| {
        ScenarioError::in_text(
            &name,
            "",
            &[],
            vec![Problem::new("file", At::Nowhere, "", problem, remedy)],
        )
    };
    if path.is_dir() {
        return Err(fail(
            format!("{name} is a directory, not a scenario file"),
            inside(path),
        ));
    }
    let file = std::fs::File::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => fail(
            format!("there is no file \"{name}\""),
            "check the path; it counts from the current directory".to_string(),
        ),
        std::io::ErrorKind::PermissionDenied => fail(
            format!("{name} may not be read"),
            "check the permissions of the file and its directories".to_string(),
        ),
        _ => fail(
            format!("{name} cannot be opened: {e}"),
            "check the path and the disk".to_string(),
        ),
    })?;
    let mut bytes = vec![];
    // Read one byte more than allowed: this detects a file that is too long even if its length is not known beforehand.
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(|e| {
        fail(
            format!("{name} cannot be read: {e}"),
            "check the disk, or copy the file".to_string(),
        )
    })?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(fail(
            format!("{name} is longer than {} MB", LONGEST_FILE / 1_000_000),
            "a scenario is a short text; check that this is the right file".to_string(),
        ));
    }
    text_of(bytes, &name)
}

/// Bytes as text, or the place from which on they are not UTF-8.
pub fn text_of(bytes: Vec<u8>, name: &str) -> Result<String, ScenarioError> {
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let bytes = e.into_bytes();
        let odd = bytes.get(good).copied().unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes);
        let remedy = match bytes.get(..2) {
            Some([0xff, 0xfe] | [0xfe, 0xff]) => "the file seems to be UTF-16: save it as UTF-8",
            _ => "save the file as UTF-8; if it is a text at all, an editor can convert it",
        };
        let problem = format!("the file is not UTF-8 text: byte {} is 0x{odd:02x}", good + 1);
        ScenarioError::in_text(
            name,
            &text,
            &[],
            vec![Problem::new("file", At::Text(good, good), "", problem, remedy)],
        )
    })
}

/// The remedy if a directory was named: name a scenario in it, if it contains one.
fn inside(path: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .take(1000)
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    let names: Vec<String> = files
        .iter()
        .take(200)
        .filter(|p| is_scenario(p))
        .map(|p| p.display().to_string())
        .collect();
    match names.as_slice() {
        [] => "name a scenario, a file such as lab.toml; there is none in this folder".to_string(),
        [one] => format!("name the scenario in it, {one}"),
        all if all.len() > SHOWN => format!(
            "name a scenario in it: {}, ... ({} in all)",
            all[..SHOWN].join(", "),
            all.len()
        ),
        all => format!("name a scenario in it: {}", all.join(", ")),
    }
}

/// The largest number of scenarios of a folder that a message names.
const SHOWN: usize = 30;

/// Whether a file looks like a scenario, because it gives a duration.
fn is_scenario(path: &Path) -> bool {
    let mut text = String::new();
    let read = open(path).and_then(|f| f.take(1 << 20).read_to_string(&mut text));
    read.is_ok() && Document::from_toml(&text, "").is_ok_and(|d| d.root.get("duration").is_some())
}

#[cfg(test)]
mod tests {
    #[test]
    fn of_a_folder_a_scenario_is_proposed_and_nothing_else() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let message = super::super::load_file(root, &[]).unwrap_err().to_string();
        assert!(message.contains("there is none in this folder"), "{message}");
        let examples = root.join("../../python/tailback/examples");
        let message = super::super::load_file(examples, &[]).unwrap_err().to_string();
        assert!(
            message.contains("examples/bufferbloat-codel.toml, ") && message.contains("examples/web.toml"),
            "{message}"
        );
    }
}
