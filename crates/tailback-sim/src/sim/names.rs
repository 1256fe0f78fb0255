//! The names of links and ports, without a string for each of a million private links.
//!
//! The names of the private links of a group have a common beginning, their stem, and differ by a number:
//! "flows.bulk.", 17, ".access". A link with a name of its own has only a stem. The port of the reverse direction has
//! ".reverse" after the name of its link. Names are assembled when they are requested.
//!
//! State: the stems, and a few bytes a port.

use std::cmp::Ordering;
use std::fmt;
use tailback_base::Named;
use tailback_base::work::counted_as;

/// Compare names so that numbers inside them count as numbers.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        match (a.first(), b.first()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let digits = |s: &[u8]| s.iter().take_while(|c| c.is_ascii_digit()).count();
                let trim = |s: &[u8]| s.iter().take_while(|c| **c == b'0').count();
                let (na, nb) = (digits(a), digits(b));
                let (xa, xb) = (&a[trim(&a[..na])..na], &b[trim(&b[..nb])..nb]);
                let order = xa.len().cmp(&xb.len()).then(xa.cmp(xb)).then(nb.cmp(&na));
                if order != Ordering::Equal {
                    return order;
                }
                (a, b) = (&a[na..], &b[nb..]);
            }
            (Some(x), Some(y)) if x != y => return x.cmp(y),
            _ => (a, b) = (&a[1..], &b[1..]),
        }
    }
}

/// The suffixes after the stem and number of a private link, in natural order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PrivateEnd {
    Access,
    Exit,
}

impl PrivateEnd {
    pub fn text(self) -> &'static str {
        match self {
            PrivateEnd::Access => ".access",
            PrivateEnd::Exit => ".exit",
        }
    }
}

/// A link's name; orders those of one stem naturally.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LinkName {
    /// The place of its stem in the list.
    pub stem: u32,
    pub private: Option<(u32, PrivateEnd)>,
}

/// A port's name; orders those of one stem naturally.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PortName {
    pub link: LinkName,
    pub reverse: bool,
}

impl PortName {
    pub fn written<'s>(self, stems: &'s [String]) -> WrittenName<'s> {
        WrittenName { name: self, stems }
    }

    /// Natural order.
    pub fn order(self, other: PortName, stems: &[String]) -> Ordering {
        if self.link.stem == other.link.stem {
            return self.cmp(&other);
        }
        let [a, b] = [self, other].map(|n| n.written(stems).to_string());
        natural(&a, &b)
    }

    /// Append the name to `named`.
    pub fn say(self, named: Named, stems: &[String]) -> Named {
        let mut named = named.text(&stems[self.link.stem as usize]);
        if let Some((number, end)) = self.link.private {
            named = named.number(number).text(end.text());
        }
        if self.reverse { named.text(".reverse") } else { named }
    }
}

/// A port's name as text.
pub(crate) struct WrittenName<'s> {
    name: PortName,
    stems: &'s [String],
}

impl fmt::Display for WrittenName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stems[self.name.link.stem as usize])?;
        if let Some((number, end)) = self.name.link.private {
            write!(f, "{number}{}", end.text())?;
        }
        f.write_str(if self.name.reverse { ".reverse" } else { "" })
    }
}

/// The names of the ports of a network: `bottleneck`, `bottleneck.reverse`. The names are in natural order, and each
/// name occurs once.
#[derive(Clone, Debug, Default)]
pub struct PortNames {
    pub(crate) stems: Vec<String>,
    pub(crate) ports: Vec<PortName>,
}

impl PortNames {
    /// The number of ports.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// The name of the port with this number.
    pub fn of(&self, port: u32) -> String {
        self.ports[port as usize].written(&self.stems).to_string()
    }

    /// All names, in order of number.
    pub fn all(&self) -> impl Iterator<Item = String> {
        counted_as(32, &self.ports).map(|p| p.written(&self.stems).to_string())
    }

    /// The number of the port of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        let order = |p: &PortName| natural(&p.written(&self.stems).to_string(), name);
        let position = self.ports.binary_search_by(order);
        position.ok().map(|i| i as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["s10", "s2", "s", "s2.reverse", "a100b", "a100b2", "s02"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a100b", "a100b2", "s", "s02", "s2", "s2.reverse", "s10"]);
    }

    /// Names of links of their own among those of groups, one of them between two ports of a group.
    #[test]
    fn parts_order_as_the_names_they_make() {
        let stems = ["flows.a.", "flows.a.9.access.m", "flows.a", "flows.b.", "z"].map(String::from);
        let mut ports = vec![];
        for (stem, stem_text) in stems.iter().enumerate() {
            let link = |private| LinkName {
                stem: stem as u32,
                private,
            };
            let links = match stem_text.ends_with('.') {
                true => [9, 10, 100]
                    .iter()
                    .flat_map(|n| [PrivateEnd::Exit, PrivateEnd::Access].map(|end| link(Some((*n, end)))))
                    .collect(),
                false => vec![link(None)],
            };
            ports.extend(
                links
                    .iter()
                    .flat_map(|l| [true, false].map(|reverse| PortName { link: *l, reverse })),
            );
        }
        let mut names: Vec<String> = ports.iter().map(|p| p.written(&stems).to_string()).collect();
        names.sort_by(|a, b| natural(a, b));
        ports.sort_by(|a, b| a.order(*b, &stems));
        let stems = stems.to_vec();
        let ports = PortNames { stems, ports };
        assert_eq!(ports.all().collect::<Vec<_>>(), names);
        for (i, name) in names.iter().enumerate() {
            assert_eq!(ports.find(name), Some(i as u32), "{name}");
            let mut said_stream = ports.ports[i].say(Named::new(1).text("link."), &ports.stems).stream();
            assert_eq!(
                said_stream.bits(),
                tailback_base::Stream::new(1, &format!("link.{name}")).bits()
            );
        }
        assert_eq!(ports.find("flows.a.9"), None);
    }
}
