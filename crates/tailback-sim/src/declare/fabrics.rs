//! Declares the topologies of data centres. A few keys stand for many named links. The crate `tailback-scenario`
//! expands them into these links (`read/fabrics.rs`).
//!
//! Each host has one link, `hostN`, from its switch to the host. Results therefore name the switch's port after the
//! host, and the host's own port is `hostN.reverse`.

use super::kinds::{self, TIME};
use super::tables::{link, switch};
use tailback_base::model::{Key, Kind, Model, Param};
use tailback_base::{BitRate, Duration, Size, params};

const MANY: Kind = Kind::Count { min: 1, max: 10_000 };

pub static LEAF_SPINE: Model = Model {
    name: "leaf-spine",
    family: "topology",
    title: "Leaf and spine",
    summary: "Switches `leaf1`, `leaf2` and so on, and `spine1`, `spine2` and so on. Each leaf has a link \
              `leafI-spineJ` to each spine. The hosts are `host1`, `host2` and so on: the first `hosts` of them are \
              at `leaf1`, the next at `leaf2`. The link from a leaf to a host has the name of the host. \
              `[link.leaf1-spine2]` may override fields of one link. `paths` says whether packets are spread over \
              the spines.",
    source: "Al-Fares, Loukissas and Vahdat 2008; Alizadeh et al. 2010",
    params: leaf_spine::PARAMS,
    probes: &[],
};

pub static FAT_TREE: Model = Model {
    name: "fat-tree",
    family: "topology",
    title: "Fat-tree",
    summary: "Three layers of switches with `k` ports each. There are `k` pods, each with k/2 switches `edgeI` and k/2 \
              switches `aggI`, and k*k/4 switches `coreI`, counted from 1 in the whole network. Each edge switch has \
              k/2 hosts. The j-th of the k/2 switches `aggI` of a pod has links to the core switches from (j-1)k/2+1 \
              to jk/2. The links are `hostN`, `edgeI-aggJ` and `aggI-coreJ`. They all have one rate. \
              `[link.agg1-core1]` may override fields of one link.",
    source: "Al-Fares, Loukissas and Vahdat 2008",
    params: fat_tree::PARAMS,
    probes: &[],
};

pub static STAR: Model = Model {
    name: "star",
    family: "topology",
    title: "Star",
    summary: "One switch, `hub`, with a link to each of the hosts `host1`, `host2` and so on. Each link has the \
              name of its host. `[link.host1]` may override fields of one link.",
    source: "",
    params: star::PARAMS,
    probes: &[],
};

params! {
    pub HOST_QUEUE = Param::new("host_queue", Kind::Model("queue"), "drr",
        "The queue of a host before its link. Default: the host serves its connections in turn, 1500 bytes each, \
         without a limit on the backlog, as Linux does with fq. In a FIFO, short flows would wait behind the windows \
         of long flows, because no switch marks the packets in this queue.",
        "");
    pub SHARED_BUFFER: Option<Size> = Key::new("shared_buffer", Kind::Size, "none",
        "Each switch keeps the packets of all its ports in one memory of this size, which dynamic thresholds divide, \
         as with `[switch.NAME]`. Default: each port has its own buffer.", "Choudhury and Hahne 1998");
    pub ALPHA: Vec<f64> = switch::ALPHA;
    pub RATE: BitRate = link::RATE.with_doc("The rate of the links of hosts.");
    pub DELAY: Duration = link::DELAY.with_doc("One-way propagation delay of each link.");
    pub QUEUE = Param {
        doc: "The queue discipline of each port of a switch, with its buffer.",
        ..link::QUEUE
    };
    pub HOSTS: u32 = Key::new("hosts", MANY, "", "How many hosts.", "");
}

/// The keys of a leaf-spine.
pub mod leaf_spine {
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub LEAVES: u32 = Key::new("leaves", MANY, "", "How many leaves.", "");
        pub SPINES: u32 = Key::new("spines", MANY, "", "How many spines.", "");
        pub HOSTS: u32 = super::HOSTS.with_doc("How many hosts each leaf has.");
        RATE;
        pub SPINE_RATE: Option<BitRate> = Key::new("spine_rate", kinds::RATE, "none",
            "The rate of the links between leaves and spines. Default: the rate that follows from `oversubscription`.",
            "");
        pub OVERSUBSCRIPTION: Option<f64> = Key::new("oversubscription", Kind::Real { min: 0.01, max: 1000.0 }, "none",
            "The summed rate of a leaf's links to hosts, divided by the summed rate of its links to spines. Default: \
             1 without `spine_rate`.", "");
        DELAY;
        pub SPINE_DELAY: Option<Duration> = Key::new("spine_delay", TIME, "none",
            "One-way propagation delay of the links between leaves and spines. Default: `delay`.", "");
        QUEUE;
        HOST_QUEUE;
        SHARED_BUFFER;
        ALPHA;
    }
}

/// The keys of a fat-tree.
pub mod fat_tree {
    use super::*;

    params! {
        pub(super) const PARAMS;

        pub K: u32 = Key::new("k", Kind::Count { min: 2, max: 22 }, "",
            "How many ports each switch has; an even number. There are k*k*k/4 hosts.", "");
        RATE;
        DELAY;
        QUEUE;
        HOST_QUEUE;
        SHARED_BUFFER;
        ALPHA;
    }
}

/// The keys of a star.
pub mod star {
    use super::*;

    params! {
        pub(super) const PARAMS;

        HOSTS;
        RATE;
        DELAY;
        QUEUE;
        HOST_QUEUE;
        SHARED_BUFFER;
        ALPHA;
    }
}
