//! The controls of a page, from the declarations of the scenario's models: units, ranges, defaults and help texts are
//! declared only there.

use crate::digits::{general, rounded};
use crate::reach::{Slider, SliderMeasure};
use crate::screen_runs::PACKET_BITS;
use crate::state::{KIND, LabRefusal, ScenarioReader, ScenarioTable, State, at, queue_of, watched};
use serde_json::{Value, json};
use tailback_base::model::{Catalogue, Model, Param};
use tailback_base::quantity::parse_time;
use tailback_base::{Duration, Size};
use tailback_queue::shaped::innermost;
use tailback_scenario::Loaded;
use tailback_sim::declare::tables::{FLOWS, LINK, SCENARIO, SESSIONS, flows, link, sessions, top};
use tailback_sim::spec::{GroupSpec, LinkSpec};
use tailback_transport::tcp;

/// The first key of a path in the second discipline.
const BESIDE: &str = "beside";
/// The key of a discipline's buffer.
const BUFFER: &str = "buffer";
/// The names of the traffic that a page adds.
const UNRESPONSIVE: &str = "unresponsive";
const WEB: &str = "web";

/// Groups of controls: a title, and the values that can be set in the group.
///
/// # Errors
/// The state is not a scenario.
pub fn controls(state: &State, reader: &ScenarioReader) -> Result<Vec<Value>, LabRefusal> {
    let loaded = reader.load(&state.document, crate::state::PAGE)?;
    let page = ControlsOf {
        document: &state.document,
        link: watched(&loaded.spec),
        catalogue: &reader.library.catalogue,
    };
    let documents = state.documents(reader)?;
    let control_of = |(title, all): (String, Vec<Option<Value>>)| {
        let moves = all
            .into_iter()
            .flatten()
            .filter_map(|c| page.that_moves(c, &documents, reader));
        json!({"title": title, "controls": moves.collect::<Vec<_>>()})
    };
    Ok(page
        .groups(&loaded, state.beside.as_ref())
        .into_iter()
        .map(control_of)
        .collect())
}

/// The control of a parameter; `None` for models and tables.
fn control(param: &Param, path: &[&str], value: Option<&Value>, label: Option<&str>) -> Option<Value> {
    let kind = param.kind.data();
    let default = default_of(param);
    let own = param.name.replace('_', " ");
    let label = label.unwrap_or(&own);
    let mut control = json!({"path": path, "label": label, "doc": param.doc, "default": default, "value": value});
    match kind.of {
        "choice" => {
            control["kind"] = json!(kind.of);
            control["choices"] = json!(kind.words);
        }
        "flag" => control["kind"] = json!("bool"),
        "model" | "tables" => return None,
        _ => match SliderMeasure::of(kind.of).filter(|_| !value.is_some_and(Value::is_array)) {
            None => control["kind"] = json!("text"),
            Some(measure) => {
                let number = measure.read(value.unwrap_or(&default));
                let (least_shown, most_shown) = measure.near(number, kind.least, kind.most);
                control["kind"] = json!(measure.word());
                control["number"] = json!(number);
                control["least"] = json!(least_shown);
                control["most"] = json!(most_shown);
                control["range"] = json!([kind.least, kind.most]);
            }
        },
    }
    Some(control)
}

fn default_of(param: &Param) -> Value {
    match param.default {
        "" | "none" => Value::Null,
        text => json!(text),
    }
}

fn param_of<'a>(model: &'a Model, name: &str) -> &'a Param {
    model.param(name).expect("the key is declared in this table")
}

/// A choice that is not the value of one declared parameter.
fn choice(path: &[&str], label: &str, doc: &str, default: Value, value: Option<&Value>, choices: Value) -> Value {
    json!({
        "path": path,
        "label": label,
        "doc": doc,
        "kind": "choice",
        "default": default,
        "value": value,
        "choices": choices,
    })
}

/// Traffic that can be switched on and off; `make` is the value at the path when it is on.
fn present(path: &[&str], label: &str, doc: &str, value: bool, make: &Value) -> Value {
    json!({
        "path": path,
        "label": label,
        "doc": doc,
        "kind": "present",
        "default": null,
        "value": value,
        "make": make,
    })
}

/// A buffer in packets of the size in which bandwidth-delay products are counted; `None` for an unlimited buffer.
fn packets_of(buffer: Size) -> Option<f64> {
    match buffer {
        Size::Packets(n) => Some(n as f64),
        Size::Bytes(n) => Some(n as f64 * 8.0 / PACKET_BITS),
        Size::Unlimited => None,
    }
}

/// The mean round trip that groups of flows declare, at least a millisecond. If none declares one, it is that of the
/// link.
fn mean_rtt(document: &ScenarioTable, link: &LinkSpec) -> f64 {
    let groups = at(document, &[top::FLOWS.name]).and_then(Value::as_object);
    let rtts = groups
        .into_iter()
        .flat_map(|g| g.values())
        .filter_map(|g| g.get(flows::RTT.name));
    let rtt_values = rtts.flat_map(|rtt| match rtt {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    });
    let seconds: Vec<f64> = rtt_values
        .filter_map(|t| parse_time(t.as_str()?).ok())
        .map(Duration::seconds)
        .collect();
    let mean = match seconds.len() {
        0 => 2.0 * link.forward.delay.seconds(),
        n => seconds.iter().sum::<f64>() / n as f64,
    };
    mean.max(1e-3)
}

/// The scenario of a page, and the link that it shows.
struct ControlsOf<'a> {
    document: &'a ScenarioTable,
    link: &'a LinkSpec,
    catalogue: &'a Catalogue,
}

impl ControlsOf<'_> {
    fn groups(&self, loaded: &Loaded, beside: Option<&ScenarioTable>) -> Vec<(String, Vec<Option<Value>>)> {
        let link = &self.link.name;
        let path = [top::LINKS.name, link, link::QUEUE.name];
        let mut groups = vec![
            ("Run".to_string(), self.of_run()),
            (format!("Link {link}"), self.of_link()),
            (
                "First discipline".to_string(),
                self.of_queue(&queue_of(self.document, link), &path),
            ),
        ];
        groups.extend(beside.map(|queue| ("Second discipline".to_string(), self.of_queue(queue, &[BESIDE]))));
        let flows = loaded.spec.flows.iter();
        groups.extend(flows.map(|g| (format!("Flows {}", g.name), self.of_flows(g))));
        groups.push(("Other traffic".to_string(), self.of_others()));
        groups.push(("Marks in place of drops (ECN)".to_string(), self.of_marks()));
        groups
    }

    /// The control, with the ends of its slider limited to values that load; `None` if no value loads.
    fn that_moves(&self, mut control: Value, documents: &[ScenarioTable], reader: &ScenarioReader) -> Option<Value> {
        let Some(measure) = control["kind"].as_str().and_then(SliderMeasure::of) else {
            return Some(control);
        };
        let path: Vec<String> = control["path"]
            .as_array()?
            .iter()
            .filter_map(|k| Some(k.as_str()?.into()))
            .collect();
        let mut path: Vec<&str> = path.iter().map(String::as_str).collect();
        let is_beside = path.first() == Some(&BESIDE);
        if is_beside {
            path.splice(..1, [top::LINKS.name, &self.link.name, link::QUEUE.name]);
        }
        let slider = Slider {
            document: if is_beside {
                documents.last()?
            } else {
                documents.first()?
            },
            path,
            measure,
            reader,
        };
        let ends = (control["least"].as_f64()?, control["most"].as_f64()?);
        let (least, most) = slider.pulled_in(control["number"].as_f64(), ends)?;
        control["least"] = json!(least);
        control["most"] = json!(most);
        Some(control)
    }

    fn names(&self, family: &str) -> Vec<&'static str> {
        self.catalogue.family(family).iter().map(|m| m.name).collect()
    }

    fn of_run(&self) -> Vec<Option<Value>> {
        let of = |name: &str| control(param_of(&SCENARIO, name), &[name], self.document.get(name), None);
        vec![of(top::DURATION.name), of(top::WARMUP.name), of(top::SEED.name)]
    }

    /// The controls of marking. They come last, because the fewest people know the word.
    fn of_marks(&self) -> Vec<Option<Value>> {
        let marking = param_of(&SCENARIO, top::MARKING.name);
        let marking_set = self.document.get(marking.name);
        let choices = json!([true, false]);
        vec![Some(choice(
            &[marking.name],
            marking.name,
            marking.doc,
            Value::Null,
            marking_set,
            choices,
        ))]
    }

    fn of_link(&self) -> Vec<Option<Value>> {
        let (forward, name) = (&self.link.forward, self.link.name.as_str());
        let rate = forward.rate.bits_per_second();
        let shown_rate = json!(format!("{}Mbps", general(rate / 1e6, 9)));
        let delay = json!(format!("{}ms", general(forward.delay.seconds() * 1e3, 6)));
        let link_param = |name| param_of(&LINK, name);
        let path = |key| [top::LINKS.name, name, key];
        let queue = innermost(&forward.queue);
        let buffer = queue.model.param(BUFFER).map(|p| queue.size(p.name));
        let product = rate * mean_rtt(self.document, self.link) / PACKET_BITS;
        let doc = "The buffer of both disciplines, in products of the link's rate and the mean round trip.";
        let buffer = buffer.map(|buffer| {
            json!({
                "path": [top::LINKS.name, name, link::QUEUE.name, BUFFER],
                "label": BUFFER,
                "doc": doc,
                "kind": "products",
                "default": null,
                "value": buffer.to_string(),
                "number": packets_of(buffer),
                "product": (product * 1e3).round_ties_even() / 1e3,
                "least": 0.1,
                "most": 2.0,
            })
        });
        vec![
            control(
                link_param(link::RATE.name),
                &path(link::RATE.name),
                Some(&shown_rate),
                None,
            ),
            control(
                link_param(link::DELAY.name),
                &path(link::DELAY.name),
                Some(&delay),
                Some("delay, one way"),
            ),
            buffer,
        ]
    }

    fn of_queue(&self, queue: &ScenarioTable, path: &[&str]) -> Vec<Option<Value>> {
        let kind = queue.get(KIND).and_then(Value::as_str).unwrap_or_default();
        let Some(model) = self.catalogue.find("queue", kind) else {
            return vec![];
        };
        let all = self.catalogue.family("queue").iter();
        let with_buffer: Vec<&str> = all.filter(|m| m.param(BUFFER).is_some()).map(|m| m.name).collect();
        let discipline = json!({
            "path": path,
            "label": "discipline",
            "doc": model.summary,
            "kind": "queue",
            "default": null,
            "value": kind,
            "choices": self.names("queue"),
            "buffers": with_buffer,
        });
        let of = |p: &Param| control(p, &[path, &[p.name]].concat(), queue.get(p.name), None);
        std::iter::once(Some(discipline))
            .chain(model.params.iter().map(of))
            .collect()
    }

    fn of_flows(&self, group: &GroupSpec) -> Vec<Option<Value>> {
        let path = [top::FLOWS.name, group.name.as_str()];
        let flow_control = |key: &str, label| {
            let path = [&path[..], &[key]].concat();
            control(param_of(&FLOWS, key), &path, at(self.document, &path), label)
        };
        let mut controls = vec![flow_control(flows::COUNT.name, None)];
        if at(self.document, &[&path[..], &[flows::RTT.name]].concat()).is_some() {
            controls.push(flow_control(flows::RTT.name, Some("round trip")));
        }
        if std::ptr::eq(group.transport.model, &tcp::MODEL) {
            controls.extend(
                self.of_tcp(&[&path[..], &[tcp::MODEL.name]].concat())
                    .into_iter()
                    .map(Some),
            );
        }
        let traffic = [&path[..], &[flows::TRAFFIC.name]].concat();
        let rate = [&traffic[..], &[link::RATE.name]].concat();
        if let (Some(value), Some(declared)) = (at(self.document, &rate), group.traffic.model.param(link::RATE.name)) {
            controls.push(control(declared, &rate, Some(value), None));
        }
        controls
    }

    fn of_tcp(&self, path: &[&str]) -> Vec<Value> {
        let set = |name: &str| at(self.document, &[path, &[name]].concat());
        let params = [
            &tcp::params::CONGESTION.declared(),
            &tcp::params::PROFILE.declared(),
            &tcp::params::ECN.declared(),
        ];
        let [congestion, profile, ecn] = params;
        let named = set(profile.name).and_then(Value::as_str).unwrap_or(profile.default);
        let values = tcp::MODEL
            .profiles()
            .iter()
            .find(|p| p.name == named)
            .map_or(&[][..], |p| p.values);
        // A value from the profile replaces the default.
        let default = |p: &Param| match values.iter().find(|(key, _)| *key == p.name) {
            Some((_, value)) => json!(value),
            None => default_of(p),
        };
        let kind = set(congestion.name).map(|c| c.get(KIND).unwrap_or(c));
        let choice_of = |p: &Param, label, value, choices| {
            choice(&[path, &[p.name]].concat(), label, p.doc, default(p), value, choices)
        };
        let profiles: Vec<&str> = tcp::MODEL.profiles().iter().map(|p| p.name).collect();
        vec![
            choice_of(congestion, "congestion control", kind, json!(self.names("congestion"))),
            choice_of(profile, profile.name, set(profile.name), json!(profiles)),
            choice_of(ecn, "ECN", set(ecn.name), json!(ecn.kind.data().words)),
        ]
    }

    /// The controls of other traffic, which can be switched on and off.
    fn of_others(&self) -> Vec<Option<Value>> {
        let constant = [top::FLOWS.name, UNRESPONSIVE];
        let web = [top::SESSIONS.name, WEB];
        let rate = rounded(self.link.forward.rate.bits_per_second() / 4e6, 3);
        let clients = [&web[..], &[sessions::CLIENTS.name]].concat();
        vec![
            Some(present(
                &constant,
                "a flow that does not slow down",
                "Datagrams at a constant rate, at first a quarter of the link's.",
                at(self.document, &constant).is_some(),
                &json!({"traffic": {KIND: "cbr", "rate": format!("{}Mbps", general(rate, 3))}, "packet_size": "1500B"}),
            )),
            Some(present(
                &web,
                "web pages",
                "Clients that fetch pages and read them, over connections opened while the run goes on.",
                at(self.document, &web).is_some(),
                &json!({KIND: WEB, sessions::CLIENTS.name: 10}),
            )),
            at(self.document, &web).and_then(|_| {
                let declared = param_of(&SESSIONS, sessions::CLIENTS.name);
                control(declared, &clients, at(self.document, &clients), None)
            }),
        ]
    }
}
