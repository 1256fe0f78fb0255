//! What files of dialogues and of cases share: a test for each file, values of TOML with their places, and the rows of
//! `with` and `each`.

use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A test for each of these files of a folder in `tests`, and one that there are no others. `played` says how many
/// lines a file has, and what does not hold.
macro_rules! files {
    ($folder:literal: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!("tests/", $folder, "/", stringify!($name), ".toml");
            let (count, broken) = played(file, &crate::rows::text(file));
            assert!(count > 0 && broken.is_empty(), "{} of {count} broken:\n{}", broken.len(), broken.join("\n"));
        })*

        #[test]
        fn every_file_is_played() {
            assert_eq!(crate::rows::names(concat!("tests/", $folder)), [$(stringify!($name)),*]);
        }
    };
}

pub fn text(file: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The files of a folder, without their endings.
pub fn names(folder: &str) -> Vec<String> {
    let found = std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let stems = found.map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
    let mut names: Vec<String> = stems.collect();
    names.sort();
    names
}

/// Names and their values, as text.
pub type Pairs = Vec<(String, String)>;

pub fn get<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    table
        .iter()
        .find(|(key, _)| key.get_ref() == name)
        .map(|(_, value)| value)
}

/// The rows of `with`, each with every combination of `each`.
pub fn rows(with: Option<&Spanned<DeValue>>, each: Option<&Spanned<DeValue>>) -> Vec<Pairs> {
    let mut rows: Vec<Pairs> = with.map_or(vec![vec![]], |w| {
        let rows = w.get_ref().as_array().expect("with is a list");
        rows.iter().map(|r| pairs(Some(r))).collect()
    });
    for (name, values) in each
        .into_iter()
        .flat_map(|e| e.get_ref().as_table().expect("each is a table"))
    {
        let values = values.get_ref().as_array().expect("each has lists");
        let one = |row: &Pairs, v| [row.clone(), vec![(name.get_ref().to_string(), text_of(v))]].concat();
        rows = rows
            .iter()
            .flat_map(|r| values.iter().map(move |v| one(r, v)))
            .collect();
    }
    rows
}

pub fn pairs(of: Option<&Spanned<DeValue>>) -> Pairs {
    let table = of.into_iter().flat_map(|v| v.get_ref().as_table().expect("a table"));
    let rows = table.flat_map(|(name, value)| match value.get_ref() {
        DeValue::Table(_) => pairs(Some(value))
            .into_iter()
            .map(|(inside, v)| (format!("{}.{inside}", name.get_ref()), v))
            .collect(),
        _ => vec![(name.get_ref().to_string(), text_of(value))],
    });
    rows.collect()
}

/// A value as a setting has it.
pub fn text_of(value: &Spanned<DeValue>) -> String {
    match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(n) => n.to_string(),
        DeValue::Float(n) => n.to_string(),
        DeValue::Boolean(b) => b.to_string(),
        other => panic!("{other:?} is no text, number or truth value"),
    }
}

/// How a row is named in a message.
pub fn label(row: &Pairs) -> String {
    row.iter()
        .map(|(name, value)| format!(", {name} = {}", value.replace('\n', "; ")))
        .collect()
}
