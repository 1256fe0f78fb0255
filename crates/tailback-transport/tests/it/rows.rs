//! What files of dialogues and of cases share: values of TOML with their places, and the rows of `with` and `each`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
