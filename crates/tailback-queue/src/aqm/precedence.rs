//! Classes of packets by their DiffServ code points, for queues that treat some better than others.

use tailback_base::Dscp;

/// The drop precedence of assured forwarding, 1 (dropped last) to 3 (RFC 2597 section 6); none outside.
pub fn of_assured_forwarding(p: Dscp) -> Option<u8> {
    match (p.0 >> 3, p.0 & 0b111) {
        (1..=4, low @ (2 | 4 | 6)) => Some(low / 2),
        _ => None,
    }
}

/// The class selector, 0 to 7: the old IP precedence (RFC 2474 section 4.2.2).
pub fn class_selector(p: Dscp) -> u8 {
    (p.0 >> 3) & 0b111
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_of_rfc_2597() {
        for (code, precedence) in [
            (10, Some(1)),
            (12, Some(2)),
            (14, Some(3)),
            (34, Some(1)),
            (38, Some(3)),
        ] {
            assert_eq!(of_assured_forwarding(Dscp(code)), precedence);
        }
        for none in [0, 2, 8, 11, 46, 48] {
            assert_eq!(of_assured_forwarding(Dscp(none)), None, "{none}");
        }
        assert_eq!((class_selector(Dscp(46)), class_selector(Dscp(7))), (5, 0));
    }
}
