//! Features that people look for in a simulator of data centres and that are not modelled, with programs that have
//! them. The page `docs/not-modelled.md` has the same lines.

/// Names of a feature in small letters, its description, and programs that have it.
type Absent = (&'static [&'static str], &'static str, &'static str);

const ABSENT: [Absent; 9] = [
    (
        &["pfc", "pause", "lossless"],
        "priority flow control and lossless classes (IEEE 802.1Qbb)",
        "HPCC's simulator, ns3-datacenter or htsim",
    ),
    (
        &["roce", "rocev2", "rdma"],
        "RDMA over Ethernet, with its retransmission of all that follows a loss",
        "HPCC's simulator or htsim",
    ),
    (
        &["dcqcn"],
        "DCQCN, a control of rates by marks for RDMA (Zhu et al. 2015)",
        "HPCC's simulator, ns3-datacenter or htsim",
    ),
    (
        &["hpcc", "int"],
        "HPCC and telemetry in each packet (Li et al. 2019)",
        "HPCC's simulator or ns3-datacenter",
    ),
    (
        &["timely", "swift"],
        "Timely and Swift, controls by delay",
        "HPCC's simulator or htsim",
    ),
    (
        &["ndp", "eqds", "trimming"],
        "NDP and EQDS: packets that are trimmed, and credits of receivers",
        "htsim",
    ),
    (
        &["homa", "phost", "expresspass"],
        "Homa and other grants of receivers",
        "Homa's simulator",
    ),
    (&["mptcp"], "MPTCP: one transfer over several subflows", "htsim or ns-3"),
    (
        &["credits", "infiniband", "slingshot"],
        "credits from link to link",
        "SST or CODES",
    ),
];

/// A sentence about a feature that is not modelled, by its name.
pub fn sentence(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let (_, what, ask) = ABSENT.iter().find(|(names, ..)| names.contains(&name.as_str()))?;
    Some(format!(
        "not modelled: {what}; ask {ask}. `tailback describe` lists what there is"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_sim::library::Library;

    #[test]
    fn what_is_modelled_is_not_called_absent() {
        let catalogue = &Library::standard().catalogue;
        let names = ABSENT.iter().flat_map(|a| a.0);
        for name in names {
            assert!(catalogue.named(name).is_empty(), "{name} is modelled");
            assert!(sentence(&name.to_uppercase()).is_some_and(|s| s.starts_with("not modelled")));
        }
        assert_eq!(sentence("dctcp"), None);
    }

    #[test]
    fn the_page_has_each_line() {
        let page = include_str!("../../../docs/not-modelled.md").to_lowercase();
        for name in ABSENT.iter().map(|a| a.0[0]) {
            assert!(page.contains(name), "docs/not-modelled.md lacks {name}");
        }
    }
}
