//! Numbers as text, rounded to some digits.

use tailback_base::Duration;

/// A number with a limited number of digits and without trailing zeros, as C's `%g` writes it.
pub fn general(x: f64, digits: usize) -> String {
    let scientific = format!("{x:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let places = (digits as i32 - 1 - exponent).max(0) as usize;
        return bare(&format!("{x:.places$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", bare(mantissa), exponent.abs())
}

/// A number rounded in the same way, as a number.
pub fn rounded(x: f64, digits: usize) -> f64 {
    general(x, digits).parse().unwrap_or(x)
}

fn bare(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A time as a scenario writes it, at least a nanosecond.
pub fn time(seconds: f64) -> String {
    format!("{}ns", Duration::from_seconds(seconds).0.max(1))
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn a_number_is_written_as_c_writes_it() {
        let written = [
            (0.1, 2, "0.1"),
            (2.0, 3, "2"),
            (1234.0, 3, "1.23e+03"),
            (1e-5, 3, "1e-05"),
        ];
        for (x, digits, text) in written {
            assert_eq!(general(x, digits), text);
        }
        assert_eq!(general(123.456, 5), "123.46");
        assert_eq!(general(f64::INFINITY, 3), "inf");
    }
}
