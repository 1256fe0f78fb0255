//! Commands in backticks, read as settings and never run.
//!
//! A command is a list of shell words up to a line end, `;` or `&&`. The known commands are `sysctl` with values, a
//! file of commands (`.sh`), packetdrill's `set_sysctls.py`, `ip route`, `tc qdisc`, and commands that have no effect
//! because each script has a network namespace of its own. Output may go to /dev/null. Variables, pipes and other
//! programs are refused.

use super::script::{Command, CommandKind};
use crate::dialogues::Fault;

/// The folder of the kernel's settings.
const FILES: &str = "/proc/sys/";
/// The folder of the kernel's modules and their parameters.
const MODULES: &str = "/sys/module/";
/// `echo` writes its value to the file after this mark.
const WRITES: &str = ">";
/// packetdrill's program that sets values and writes a file that restores the old values.
const SETTER: &str = "set_sysctls.py";
/// The beginning of the path of the file that `set_sysctls.py` writes.
const RESTORER: &str = "/tmp/sysctl_restore_";

/// The commands of a text that begins in this line.
pub fn read(text: &str, line: u32) -> Result<Vec<Command>, Fault> {
    let mut commands = Vec::new();
    let mut shell = Shell { rest: text, line };
    while let Some((line, words)) = shell.command()? {
        for kind in kinds(line, &words)? {
            let text = words.join(" ");
            commands.push(Command { line, text, kind });
        }
    }
    Ok(commands)
}

struct Shell<'a> {
    rest: &'a str,
    line: u32,
}

impl Shell<'_> {
    /// The words of the next command, and its line.
    fn command(&mut self) -> Result<Option<(u32, Vec<String>)>, Fault> {
        let mut words = Vec::new();
        let mut line = self.line;
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            let remaining = self.rest;
            if remaining.is_empty() {
                return Ok((!words.is_empty()).then_some((line, words)));
            }
            if remaining.starts_with("\\\n") || remaining.starts_with("\\\r\n") {
                self.pass(remaining.find('\n').map_or(remaining.len(), |n| n + 1));
            } else if remaining.starts_with('#') {
                self.pass(remaining.find('\n').unwrap_or(remaining.len()));
            } else if let Some(end) = ["\n", ";", "&&"].iter().find(|e| remaining.starts_with(**e)) {
                self.pass(end.len());
                if !words.is_empty() {
                    return Ok(Some((line, words)));
                }
            } else if self.writes_setting() {
                words.push(WRITES.to_string());
            } else if !self.redirection()? {
                if words.is_empty() {
                    line = self.line;
                }
                words.push(self.word()?);
            }
        }
    }

    fn pass(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count() as u32;
        self.rest = &self.rest[bytes..];
    }

    /// Whether `>` and a file in `/proc/sys/` or `/sys/module/` follow. Then `echo` sets this file.
    fn writes_setting(&mut self) -> bool {
        let Some(target) = self
            .rest
            .strip_prefix(WRITES)
            .map(|r| r.trim_start_matches([' ', '\t']))
        else {
            return false;
        };
        let is_known = [FILES, MODULES].iter().any(|folder| target.starts_with(folder));
        if is_known {
            self.pass(self.rest.len() - target.len());
        }
        is_known
    }

    /// `> /dev/null`, `2>&1`, `&> /dev/null`.
    fn redirection(&mut self) -> Result<bool, Fault> {
        let remaining = self.rest;
        if remaining.starts_with("2>&1") {
            self.pass(4);
            return Ok(true);
        }
        let Some(mark) = ["&>", "1>", "2>", ">"].iter().find(|m| remaining.starts_with(**m)) else {
            return Ok(false);
        };
        let target = remaining[mark.len()..].trim_start_matches(['>', ' ', '\t']);
        if !target.starts_with("/dev/null") {
            return Err(Fault::new(
                self.line,
                first_word(remaining),
                "output of commands may only go to /dev/null",
            ));
        }
        self.pass(remaining.len() - target.len() + "/dev/null".len());
        Ok(true)
    }

    /// One word, without its quotation marks.
    fn word(&mut self) -> Result<String, Fault> {
        let mut word = String::new();
        let (begin, line) = (self.rest, self.line);
        while let Some(character) = self.rest.chars().next() {
            match character {
                ' ' | '\t' | '\r' | '\n' | ';' => break,
                '&' if self.rest.starts_with("&&") => break,
                '"' | '\'' => word.push_str(&self.quoted(character)?),
                '$' => word.push_str(&self.made()?),
                '\\' if self.rest.len() > 1 && !self.rest.starts_with("\\\n") && !self.rest.starts_with("\\\r") => {
                    self.pass(1);
                    let c = self.rest.chars().next().unwrap_or(' ');
                    word.push(c);
                    self.pass(c.len_utf8());
                }
                '\\' => break,
                '|' | '&' | '<' | '>' | '(' | ')' | '{' | '*' | '?' | '`' => {
                    let what = format!("commands are read as settings and not run, so there is no `{character}`");
                    return Err(Fault::new(line, first_word(begin), what));
                }
                character => {
                    word.push(character);
                    self.pass(character.len_utf8());
                }
            }
        }
        if word.is_empty() && std::ptr::eq(begin, self.rest) {
            // A backslash at the end.
            self.pass(1);
        }
        Ok(word)
    }

    fn quoted(&mut self, mark: char) -> Result<String, Fault> {
        let (begin, line) = (self.rest, self.line);
        self.pass(1);
        let mut text = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err(Fault::new(
                    line,
                    first_word(begin),
                    "the closing quotation mark is missing",
                ));
            };
            if c == mark {
                self.pass(1);
                return Ok(text);
            }
            if c == '$' && mark == '"' {
                text.push_str(&self.made()?);
                continue;
            }
            text.push(c);
            self.pass(c.len_utf8());
        }
    }

    /// `$((15*1024*1024))`, or the name of the file that restores settings.
    fn made(&mut self) -> Result<String, Fault> {
        let (remaining, line) = (self.rest, self.line);
        if remaining.starts_with("${PPID}") {
            self.pass("${PPID}".len());
            return Ok(String::new());
        }
        let message = "of variables of the shell only $((sums and products of whole numbers)) are read";
        let inside = remaining.strip_prefix("$((").and_then(|r| r.split_once("))"));
        let Some((inside, _)) = inside else {
            return Err(Fault::new(line, first_word(remaining), message));
        };
        let Some(value) = sum(inside) else {
            return Err(Fault::new(line, &remaining[..inside.len() + 5], message));
        };
        self.pass(inside.len() + 5);
        Ok(value.to_string())
    }
}

/// A sum of products of whole numbers.
fn sum(text: &str) -> Option<u64> {
    text.split('+').try_fold(0u64, |total, product| {
        let product = product
            .split('*')
            .try_fold(1u64, |p, f| p.checked_mul(f.trim().parse().ok()?))?;
        total.checked_add(product)
    })
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// The kinds of a command. One command may set several values.
fn kinds(line: u32, words: &[String]) -> Result<Vec<CommandKind>, Fault> {
    let program = words[0].as_str();
    let arguments = &words[1..];
    let second = arguments.first().map_or("", String::as_str);
    let refused = |what: &str| Err(Fault::new(line, &words.join(" "), what));
    match (program, second) {
        ("sysctl", _) => sysctl(line, arguments),
        (file, _) if file.ends_with(SETTER) => arguments.iter().map(|w| set_file(line, w)).collect(),
        (file, _) if file.starts_with(RESTORER) => Ok(vec![CommandKind::Nothing]),
        (file, "") if file.ends_with(".sh") => Ok(vec![CommandKind::Include(file.to_string())]),
        (file, _) if file.ends_with(".sh") => refused("a file of commands is included without arguments"),
        ("ip", "route") => Ok(vec![CommandKind::Route(arguments[1..].to_vec())]),
        ("tc", "qdisc") => Ok(vec![CommandKind::Qdisc(arguments[1..].to_vec())]),
        ("echo", _) if arguments.iter().any(|w| w == WRITES) => Ok(vec![echo(line, arguments)?]),
        ("echo", _) => Ok(vec![CommandKind::Nothing]),
        ("ip", "tcp_metrics") | ("true" | ":", _) => Ok(vec![CommandKind::Nothing]),
        _ => refused(
            "no command is run; settings are read from sysctl, ip route, tc qdisc, set_sysctls.py, included files \
             (.sh), and echo into /proc/sys and /sys/module",
        ),
    }
}

/// `sysctl -q net.ipv4.tcp_ecn=0 net/ipv4/tcp_sack=1`
fn sysctl(line: u32, words: &[String]) -> Result<Vec<CommandKind>, Fault> {
    let mut settings = Vec::new();
    for word in words {
        if word.starts_with('-') && word[1..].chars().all(|c| "qew".contains(c)) {
            continue;
        }
        settings.push(set(line, word, word)?);
    }
    if settings.is_empty() {
        return Err(Fault::new(
            line,
            "sysctl",
            "write what it sets, such as `sysctl -q net.ipv4.tcp_sack=1`",
        ));
    }
    Ok(settings)
}

/// `/proc/sys/net/ipv4/tcp_ecn=0`
fn set_file(line: u32, word: &str) -> Result<CommandKind, Fault> {
    match word.strip_prefix(FILES) {
        Some(name) => set(line, name, word),
        None => Err(Fault::new(
            line,
            word,
            format!("write {FILES}name=value after {SETTER}"),
        )),
    }
}

/// `echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect`: the parameter of a module has its name from the boot
/// options, `tcp_cubic.hystart_detect`.
fn echo(line: u32, words: &[String]) -> Result<CommandKind, Fault> {
    let wrong = |word: &str| {
        Fault::new(
            line,
            word,
            "write echo VALUE > FILE, with a file below /proc/sys or /sys/module",
        )
    };
    let [value, mark, file] = words else {
        return Err(wrong("echo"));
    };
    if mark != WRITES {
        return Err(wrong(mark));
    }
    if let Some(name) = file.strip_prefix(FILES) {
        return set(line, &format!("{name}={value}"), file);
    }
    let parameter = file.strip_prefix(MODULES).and_then(|f| f.split_once("/parameters/"));
    let (module, parameter) = parameter.ok_or_else(|| wrong(file))?;
    named(line, &format!("{module}.{parameter}={value}"), file)
}

fn set(line: u32, setting: &str, word: &str) -> Result<CommandKind, Fault> {
    let kind = named(line, setting, word)?;
    match &kind {
        CommandKind::Set { name, .. } if !name.starts_with("net.") => Err(Fault::new(
            line,
            word,
            "of the kernel's settings those of its network are read (net.)",
        )),
        _ => Ok(kind),
    }
}

fn named(line: u32, setting: &str, word: &str) -> Result<CommandKind, Fault> {
    let wrong = || Fault::new(line, word, "a setting is name=value, such as net.ipv4.tcp_sack=1");
    let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
    // This check refuses a name that leads out of /proc/sys and a value with a second line.
    let plain =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let name = name.replace('/', ".");
    if !name.split('.').all(plain) || value.chars().any(char::is_control) {
        return Err(wrong());
    }
    let value = value.trim().to_string();
    Ok(CommandKind::Set { name, value })
}
