//! Raw values, as written in a file or an argument.

/// A value as written in a file or an argument, before its meaning is known.
///
/// ```
/// use tailback_base::model::Raw;
///
/// assert_eq!(Raw::from_word("5"), Raw::Int(5));
/// assert_eq!(Raw::from_word("5ms"), Raw::Text("5ms".into()));
/// assert_eq!(Raw::from_word("[1, 2.5]"), Raw::List(vec![Raw::Int(1), Raw::Real(2.5)]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Raw {
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Raw>),
}

/// The most characters of a value that a message shows.
const MOST_SHOWN: usize = 120;

/// The greatest depth of nested lists in a bare word.
const DEEPEST: usize = 16;

impl Raw {
    /// The value as the user would recognise it; long values are cut.
    pub fn show(&self) -> String {
        let written = match self {
            Raw::Bool(b) => b.to_string(),
            Raw::Int(i) => i.to_string(),
            Raw::Real(x) => x.to_string(),
            Raw::Text(t) => format!("\"{t}\""),
            Raw::List(l) => format!("[{}]", l.iter().map(Raw::show).collect::<Vec<_>>().join(", ")),
        };
        match written.char_indices().nth(MOST_SHOWN) {
            Some((i, _)) => format!("{}...", &written[..i]),
            None => written,
        }
    }

    /// Read a bare word for `--set` and declared defaults: a number, a bool, a list in brackets, or else text. Lists
    /// nest up to `DEEPEST`; a deeper list is read as text, which no list of values allows.
    pub fn from_word(word: &str) -> Raw {
        Raw::nested_word(word, DEEPEST)
    }

    fn nested_word(word: &str, deeper: usize) -> Raw {
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
            _ => match w
                .strip_prefix('[')
                .and_then(|r| r.strip_suffix(']'))
                .filter(|_| deeper > 0)
            {
                Some(inner) if inner.trim().is_empty() => Raw::List(vec![]),
                Some(inner) => Raw::List(items(inner).map(|w| Raw::nested_word(w, deeper - 1)).collect()),
                None => Raw::Text(w.trim_matches(|c| c == '"' || c == '\'').to_string()),
            },
        }
    }
}

/// The items of a list: the parts between commas that are not inside brackets or braces.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    list.split(move |c| {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_tables_nest_in_lists() {
        let show = |word: &str| Raw::from_word(word).show();
        assert_eq!(show("[1, [2, 3], 4]"), "[1, [2, 3], 4]");
        assert_eq!(show("[a, { kind = b, c = 1 }]"), "[\"a\", \"{ kind = b, c = 1 }\"]");
    }
}
