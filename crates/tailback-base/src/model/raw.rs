//! Raw values: as they stand in a file or an argument.

/// A value as it stands in a file or an argument, before anyone knows what it means.
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Raw>),
}

impl Raw {
    /// How the user would recognise it.
    pub fn show(&self) -> String {
        match self {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Real(x) => x.to_string(),
            Raw::Text(t) => format!("\"{t}\""),
            Raw::List(l) => format!("[{}]", l.iter().map(Raw::show).collect::<Vec<_>>().join(", ")),
        }
    }

    /// Read a bare word the way `--set` and declared defaults need it: number, bool, list in brackets, else text.
    pub fn from_word(word: &str) -> Raw {
        let w = word.trim();
        if let Ok(i) = w.parse::<i64>() {
            return Raw::Int(i);
        }
        if let Some(x) = w.parse::<f64>().ok().filter(|x| x.is_finite()) {
            return Raw::Real(x);
        }
        match w {
            "true" => Raw::Bool(true),
            "false" => Raw::Bool(false),
            _ => match w.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
                Some(inner) if inner.trim().is_empty() => Raw::List(vec![]),
                Some(inner) => Raw::List(inner.split(',').map(Raw::from_word).collect()),
                None => Raw::Text(w.trim_matches(|c| c == '"' || c == '\'').to_string()),
            },
        }
    }
}
