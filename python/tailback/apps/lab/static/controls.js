// The controls: made of what the program says of the scenario's parameters.

const STEPS = 1000;

// Two controls may set one value.
const named = (c) => `${c.path.join(".")}${c.kind === "products" ? ":products" : ""}`;

// A place of the slider from 0 to STEPS and a number; by factors where the range is wide and above zero.
const scale = (c) => {
  const [low, high] = [c.least, c.most];
  if (low > 0 && high / low > 20) {
    const ratio = Math.log(high / low);
    return { value: (p) => low * Math.exp((ratio * p) / STEPS), place: (v) => (STEPS * Math.log(Math.max(low, v) / low)) / ratio };
  }
  return { value: (p) => low + ((high - low) * p) / STEPS, place: (v) => (STEPS * (v - low)) / (high - low || 1) };
};

class Controls {
  // `change(path, value, event, over)`: a value was set; `over` when the hand lets go.
  // `only`: the names of those that are shown, if not all are.
  constructor(parent, change, only) {
    this.parent = parent;
    this.change = change;
    this.only = only;
    this.rows = new Map();
  }

  show(all) {
    const known = all.flatMap((g) => g.controls);
    const some = this.only?.map((name) => known.find((c) => named(c) === name)).filter(Boolean);
    const groups = some ? [{ title: "", controls: some }] : all;
    const key = (c) => [named(c), c.kind, (c.choices || []).length].join();
    const signature = JSON.stringify(groups.map((g) => [g.title, g.controls.map(key)]));
    if (signature !== this.signature) {
      const focused = this.parent.contains(document.activeElement) ? document.activeElement.id : null;
      this.signature = signature;
      this.rows.clear();
      this.parent.replaceChildren(...groups.filter((g) => g.controls.length).map((g) => this.group(g)));
      if (focused) document.getElementById(focused)?.focus();
    }
    for (const g of groups) for (const c of g.controls) this.rows.get(named(c))?.set(c);
  }

  group(g) {
    // The first few stand open; what is seldom changed is one step away.
    const few = /discipline/.test(g.title) ? 2 : 8;
    const rows = g.controls.map((c) => this.row(c));
    const more = rows.slice(few);
    return make(
      "fieldset", {},
      g.title ? make("legend", { text: g.title }) : null,
      ...rows.slice(0, few),
      more.length ? make("details", {}, make("summary", { text: `${more.length} more parameters` }), ...more) : null,
    );
  }

  row(c) {
    const name = named(c);
    const id = `c-${name.replaceAll(/[.:]/g, "-")}`;
    const label = make("label", { for: id, text: c.label });
    const doc = make("small", { id: `${id}-doc`, text: c.doc });
    const shown = { set: () => {} };
    this.rows.set(name, shown);
    const inputs = this.inputs(c, id, shown);
    return make("div", { class: `row ${c.kind}` }, label, ...inputs, doc);
  }

  inputs(c, id, shown) {
    const described = { id, "aria-describedby": `${id}-doc` };
    const send = (value, e, over = true) => this.change(c.path, value, e, over);
    if (["choice", "queue", "axis"].includes(c.kind)) return [this.choice(c, described, shown, send)];
    if (c.kind === "bool" || c.kind === "present") {
      const box = make("input", { ...described, type: "checkbox" });
      shown.set = (n) => (box.checked = n.kind === "present" ? n.value : (n.value ?? n.default === "true"));
      box.addEventListener("change", (e) => send(c.kind === "present" ? (box.checked ? copied(c.make) : undefined) : box.checked, e));
      return [box];
    }
    if (c.kind === "text") {
      const text = make("input", { ...described, type: "text", placeholder: c.default ?? "not given" });
      shown.set = (n) => document.activeElement !== text && (text.value = Array.isArray(n.value) ? JSON.stringify(n.value) : (n.value ?? ""));
      text.addEventListener("change", (e) => send(this.read(text.value), e));
      return [text];
    }
    return this.slider(c, described, shown, send);
  }

  // A text as a value of a scenario: a list or a number where it is one, nothing where it is empty.
  read(text) {
    const t = text.trim();
    if (!t) return undefined;
    if (/^[[\d.-]/.test(t)) {
      try { return JSON.parse(t); } catch { return t; }
    }
    return t;
  }

  choice(c, described, shown, send) {
    const choices = c.choices.map((x) => make("option", { value: JSON.stringify(x), text: String(x) }));
    const bare = c.default === null || c.default === undefined ? "as the scenario says" : `default: ${c.default}`;
    const none = ["queue", "axis"].includes(c.kind) ? [] : [make("option", { value: "", text: bare })];
    const select = make("select", described, ...none, ...choices);
    shown.set = (n) => (select.value = n.value === null || n.value === undefined ? "" : JSON.stringify(n.value));
    select.addEventListener("change", (e) => {
      const value = select.value === "" ? undefined : JSON.parse(select.value);
      send(c.kind === "queue" ? { kind: value, keeps: c.buffers.includes(value) } : value, e);
    });
    return select;
  }

  slider(c, described, shown, send) {
    const range = make("input", { ...described, type: "range", min: 0, max: STEPS, step: 1 });
    const text = make("input", { type: "text", class: "exact", "aria-label": `${c.label}, exact value`, placeholder: c.default ?? "" });
    let now = c;
    const products = c.kind === "products";
    const value = (n) => (products ? `${Math.max(1, Math.round(n * now.product))} packets` : written(n, c.kind));
    shown.set = (n) => {
      // The range stays while the value is in it, so that the slider stays where it was let go.
      const stays = !products && n.number !== null && n.number >= now.least && n.number <= now.most;
      now = stays ? { ...n, least: now.least, most: now.most } : n;
      const number = products && n.number !== null ? n.number / n.product : n.number;
      if (document.activeElement !== range || !range.dataset.held) range.value = number === null ? 0 : scale(now).place(number);
      if (document.activeElement !== text) text.value = n.value ?? "";
      this.say(range, n, number);
    };
    const moved = (e, over) => {
      const number = scale(now).value(+range.value);
      const given = value(number);
      text.value = given;
      this.say(range, now, number);
      send(given, e, over);
    };
    range.addEventListener("pointerdown", () => (range.dataset.held = "1"));
    range.addEventListener("pointerup", () => delete range.dataset.held);
    range.addEventListener("input", (e) => moved(e, false));
    range.addEventListener("change", (e) => moved(e, true));
    text.addEventListener("change", (e) => send(this.read(text.value), e));
    return [range, text];
  }

  say(range, c, number) {
    const words = c.kind === "products" ? `${digits(number)} products of rate and round trip` : number === null ? "not given" : String(written(number, c.kind));
    range.setAttribute("aria-valuetext", words);
    if (c.kind === "products") range.title = words;
  }
}
