//! A segment: `[ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,sack 2001:3001>`.

use super::script::{EcnField, Packet, TcpOption};
use crate::dialogues::Fault;
use crate::dialogues::cursor::Cursor;
use crate::dialogues::lex::Kind;

/// Whether a segment arrives or is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    In,
    Out,
}

/// Letters of flags, in any order.
const FLAGS: &str = "SFRPUEWA";
/// The flags for which a digit stands, beginning with the bit of value 4 (RFC 9768 section 3.2.1).
const ACE: [char; 3] = ['A', 'W', 'E'];
/// Fields of accurate ECN's option, in order 0 (RFC 9768 section 3.2.3).
const COUNTS: [&str; 3] = ["e0b", "ceb", "e1b"];
/// A field has 24 bits.
const MOST_COUNT: u64 = 0xff_ffff;
/// The most blocks of a SACK option (RFC 2018 section 3).
const MOST_BLOCKS: usize = 4;
/// The largest shift of a window (RFC 7323 section 2.3).
const MOST_SHIFT: u64 = 14;
/// The longest payload that a script can write.
const MOST_PAYLOAD: u64 = 65_535;

/// First words of packets that are not TCP segments directly over IP.
const OTHERS: [&str; 9] = ["icmp", "udp", "gre", "GREv0", "mpls", "ipv4", "ipv6", "sctp", "udplite"];
/// Options that a segment here does not have.
const LEFT_OUT: [(&str, &str); 5] = [
    ("FO", "TCP Fast Open"),
    ("FOEXP", "TCP Fast Open"),
    ("md5", "the MD5 signature"),
    ("exp", "an experimental option"),
    ("mp_capable", "Multipath TCP"),
];

/// The segment after `<` or `>`.
pub fn read(c: &mut Cursor, way: Way) -> Result<Packet, Fault> {
    if let Some(Kind::Word(word)) = c.peek()
        && OTHERS.contains(&word)
    {
        return Err(c.fault("only TCP segments are played, without other headers around them"));
    }
    let ecn = ecn(c, way)?;
    if matches!(c.peek(), Some(Kind::Number(_))) && c.peek_after(1) == Some(Kind::Sign('>')) {
        return Err(c.fault("ports are not modelled: a script has one connection"));
    }
    let flags = flags(c)?;
    let (seq, payload) = sequence(c)?;
    let ack = if c.take_word("ack") {
        Some(c.whole_u32("the number that `ack` acknowledges")?)
    } else {
        None
    };
    let window = if c.take_word("win") {
        Some(c.whole_u16("the window, as the header has it,")?)
    } else {
        None
    };
    if c.peek() == Some(Kind::Word("urg")) {
        return Err(c.fault("urgent data are not modelled"));
    }
    let options = options(c, way)?;
    if c.peek() == Some(Kind::Sign('/')) {
        return Err(c.fault("only TCP segments are played, without other headers around them"));
    }
    Ok(Packet {
        flags,
        ecn,
        seq,
        payload,
        ack,
        window,
        options,
    })
}

/// `[ect0]` or `(tos 0x2)`.
fn ecn(c: &mut Cursor, way: Way) -> Result<Option<EcnField>, Fault> {
    let close = match c.peek() {
        Some(Kind::Sign('[')) => ']',
        Some(Kind::Sign('(')) => ')',
        _ => return Ok(None),
    };
    c.next();
    let field = match c.next() {
        Some(Kind::Word("noecn")) => EcnField::NotEct,
        Some(Kind::Word("ect0")) => EcnField::Ect0,
        Some(Kind::Word("ect1")) => EcnField::Ect1,
        Some(Kind::Word("ce")) => EcnField::Ce,
        Some(Kind::Word("ect01")) if way == Way::Out => EcnField::Ect01,
        Some(Kind::Word("ect01")) => return Err(c.fault_before("a segment that arrives has ect0 or ect1, not either")),
        Some(Kind::Word("tos")) => match c.whole(255, "the byte after `tos`")? {
            0 => EcnField::NotEct,
            1 => EcnField::Ect1,
            2 => EcnField::Ect0,
            3 => EcnField::Ce,
            _ => return Err(c.fault_before("of this byte only the two ECN bits are modelled, so 0 to 3")),
        },
        Some(_) => {
            return Err(c.fault_before("of the IP header only noecn, ect0, ect1, ce and ect01 are read"));
        }
        None => return Err(c.fault("write noecn, ect0, ect1 or ce here")),
    };
    c.expect_sign(close, "after the ECN field")?;
    Ok(Some(field))
}

fn flags(c: &mut Cursor) -> Result<String, Fault> {
    if c.take_sign('-') {
        return Ok(String::new());
    }
    let mut flags = String::new();
    let mut flag_digits = None;
    if let Some(Kind::Word(word)) = c.peek() {
        let letters = word.trim_end_matches(|f: char| f.is_ascii_digit());
        if let Some(other) = letters.chars().find(|&f| !FLAGS.contains(f)) {
            return Err(c.fault(format!(
                "{other} is no flag; there are S, F, R, P, U, E, W, A, `.` for ACK, and `-` for none"
            )));
        }
        flags.push_str(letters);
        flag_digits = (letters.len() < word.len()).then_some(&word[letters.len()..]);
        c.next();
    }
    if c.take_sign('.') {
        flags.push('.');
    } else if let Some(Kind::Number(text)) = c.peek()
        && let Some(digits) = text.strip_prefix('.')
        && flag_digits.is_none()
    {
        // `.5`: ACK, and the flags of ECN as a number.
        flags.push('.');
        flag_digits = Some(digits);
        c.next();
    }
    if let Some(digits) = flag_digits {
        let ace = digits.parse::<u8>().ok().filter(|&n| n < 8 && digits.len() == 1);
        let Some(ace) = ace else {
            return Err(c.fault_before("the flags of ECN as a number are 0 to 7"));
        };
        if flags.contains(ACE) {
            return Err(c.fault_before("the flags of ECN are a number or letters, not both"));
        }
        flags.extend(
            ACE.iter()
                .zip([4, 2, 1])
                .filter(|(_, bit)| ace & bit != 0)
                .map(|(f, _)| f),
        );
    }
    if flags.is_empty() {
        return Err(c.fault("write the flags of a segment here, such as `S`, `P.`, `.` or `-`"));
    }
    if flags.contains('U') {
        return Err(c.fault_before("urgent data are not modelled"));
    }
    Ok(flags)
}

/// `1:1001(1000)`
fn sequence(c: &mut Cursor) -> Result<(u32, u32), Fault> {
    let begin = c.whole_u32("the first sequence number")?;
    c.expect_sign(':', "a segment has first:end(payload), such as 1:1001(1000)")?;
    let end = c.whole_u32("the sequence number after the payload")?;
    c.expect_sign('(', "a segment has first:end(payload), such as 1:1001(1000)")?;
    let payload = c.whole(MOST_PAYLOAD, "the payload")? as u32;
    if end != begin.wrapping_add(payload) {
        return Err(c.fault_before(format!(
            "{begin}:{end} are {} bytes, not {payload}",
            u64::from(end.wrapping_sub(begin))
        )));
    }
    c.expect_sign(')', "a segment has first:end(payload), such as 1:1001(1000)")?;
    if c.peek() == Some(Kind::Sign('!')) {
        return Err(c.fault("absolute sequence numbers are not modelled"));
    }
    Ok((begin, payload))
}

fn options(c: &mut Cursor, way: Way) -> Result<Option<Vec<TcpOption>>, Fault> {
    // A `<` directly after a segment opens its options. The `<` of the next step follows a time.
    if !c.take_sign('<') {
        return Ok(Some(Vec::new()));
    }
    if c.take_dots() {
        if way == Way::In {
            return Err(c.fault_before("a segment that arrives has its options written out"));
        }
        c.expect_sign('>', "after `...`")?;
        return Ok(None);
    }
    let mut options = Vec::new();
    loop {
        options.push(option(c)?);
        if c.take_sign('>') {
            return Ok(Some(options));
        }
        c.expect_sign(',', "between two options, and `>` after the last one")?;
    }
}

fn option(c: &mut Cursor) -> Result<TcpOption, Fault> {
    let Some(Kind::Word(name)) = c.peek() else {
        return Err(c.fault("write an option here: mss, wscale, sackOK, sack, TS, ECN, nop or eol"));
    };
    if let Some((_, description)) = LEFT_OUT.iter().find(|(word, _)| *word == name) {
        return Err(c.fault(format!("{description} is not modelled")));
    }
    c.next();
    Ok(match name {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::Eol,
        "mss" => TcpOption::Mss(c.whole_u16("the mss")?),
        "wscale" => TcpOption::Scale(c.whole(MOST_SHIFT, "the shift of the window")? as u32),
        "sackOK" => TcpOption::SackPermitted,
        "sack" => TcpOption::Sack(blocks(c)?),
        "TS" => {
            let remedy = "write `TS val 100 ecr 0`";
            if !c.take_word("val") {
                return Err(c.fault(remedy));
            }
            let value = c.whole_u32("the value of the time stamp")?;
            if !c.take_word("ecr") {
                return Err(c.fault(remedy));
            }
            let echo = c.whole_u32("the echo of the time stamp")?;
            TcpOption::Stamps { value, echo }
        }
        "ECN" => TcpOption::Counts(counts(c)?),
        _ => return Err(c.fault_before("there are the options mss, wscale, sackOK, sack, TS, ECN, nop and eol")),
    })
}

fn blocks(c: &mut Cursor) -> Result<Vec<(u32, u32)>, Fault> {
    let mut blocks = Vec::new();
    while matches!(c.peek(), Some(Kind::Number(_))) {
        if blocks.len() == MOST_BLOCKS {
            return Err(c.fault(format!("a SACK option has at most {MOST_BLOCKS} blocks")));
        }
        let begin = c.whole_u32("the first number of a block")?;
        c.expect_sign(':', "a block is first:end, such as 1001:2001")?;
        let end = c.whole_u32("the end of a block")?;
        blocks.push((begin, end));
    }
    if blocks.is_empty() {
        return Err(c.fault("write the blocks here, such as `sack 1001:2001 4001:5001`"));
    }
    Ok(blocks)
}

/// `e1b 1 ceb 0 e0b 1`: the fields are in the order e0b, ceb, e1b or the reverse, and an unchanged tail may be left
/// out.
fn counts(c: &mut Cursor) -> Result<Vec<(&'static str, u32)>, Fault> {
    let mut fields_read: Vec<(&'static str, u32)> = Vec::new();
    while let Some(name) = COUNTS.iter().find(|name| c.take_word(name)) {
        let position_of = |name: &str| COUNTS.iter().position(|n| *n == name);
        let step = fields_read
            .last()
            .map(|(before, _)| position_of(name).zip(position_of(before)));
        let first = fields_read.first().map(|f| f.0);
        let follows = match (first, step) {
            (None, _) => *name != "ceb",
            (Some("e0b"), Some(Some((now, before)))) => now == before + 1,
            (Some(_), Some(Some((now, before)))) => now + 1 == before,
            _ => false,
        };
        if !follows {
            return Err(c.fault_before("the fields are e0b, ceb, e1b in this order, or in the reverse order"));
        }
        fields_read.push((name, c.whole(MOST_COUNT, "a count of accurate ECN")? as u32));
    }
    Ok(fields_read)
}
