//! A number and its unit, in one text.

/// Split `"1.5 ms"` into its number and its unit.
pub(crate) fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let c = bytes[end];
        let exponent = (c == b'e' || c == b'E')
            && bytes.get(end + 1).is_some_and(|n| {
                n.is_ascii_digit() || ((*n == b'-' || *n == b'+') && bytes.get(end + 2).is_some_and(u8::is_ascii_digit))
            });
        let sign = (c == b'-' || c == b'+') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if c.is_ascii_digit() || c == b'.' || c == b'_' || exponent || sign {
            end += 1;
        } else {
            break;
        }
    }
    let magnitude = text[..end]
        .replace('_', "")
        .parse::<f64>()
        .ok()
        .filter(|x| x.is_finite())?;
    Some((magnitude, text[end..].trim()))
}
