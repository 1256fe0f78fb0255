// The page: its state, what it asks for, and what it draws of the answers.

const jain = (values) => {
  const [sum, squares] = values.reduce(([a, b], v) => [a + v, b + v * v], [0, 0]);
  return squares ? (sum * sum) / (values.length * squares) : NaN;
};

// Longer addresses are cut by programs that pass them on.
const LONGEST_LINK = 8000;

class Lab {
  constructor(root, hello, carry) {
    this.root = root;
    this.state = hello.state;
    this.version = hello.version;
    // A figure in another page: a few controls and pictures.
    this.only = hello.only || null;
    this.past = [];
    this.place = -1;
    this.input = 0;
    // How long each input took to be seen, for measurements: {input, mode, ms}.
    this.times = [];
    this.carrier = carry((header, numbers, bytes) => this.take(header, numbers, bytes), (text) => this.complain(text));
    this.build(hello);
    this.listeners();
    if (hello.notice) this.complain(hello.notice);
    if (hello.tour) this.startTour(hello.tour);
    this.full(performance.now(), true);
  }

  build(hello) {
    const button = (text, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, text);
    this.back = button("Back", () => this.go(-1), { title: "The state before (Alt and left arrow)" });
    this.forth = button("Forward", () => this.go(1), { title: "The state after" });
    const can = this.carrier.can;
    const live = can.has("run");
    const tours = make("select", { "aria-label": "Tour", onchange: (e) => e.target.value && this.carrier.send({ do: "tour", name: e.target.value }) }, make("option", { value: "", text: "Tours …" }), ...(hello.tours || []).map((t) => make("option", { value: t.name, text: t.title })));
    const copy = make("select", { "aria-label": "Copy", onchange: (e) => this.copy(e.target) }, ...[["", "Copy …"], ["toml", "as TOML"], ["python", "as Python"], ["command", "as a command"], ["link", "a link"]].filter(([k]) => can.has(k === "link" ? "link" : "copies")).map(([value, text]) => make("option", { value, text })));
    const kinds = [["", "Save …"], ["png", "pictures as PNG"], ["csv", "data as CSV"], ...(can.has("figures") ? [["queue.svg", "queue as SVG"], ["queue.pdf", "queue as PDF"], ["cwnd.svg", "windows as SVG"], ["cwnd.pdf", "windows as PDF"], ["goodput.svg", "goodputs as SVG"], ["goodput.pdf", "goodputs as PDF"]] : [])];
    const save = make("select", { "aria-label": "Save", onchange: (e) => this.save(e.target) }, ...kinds.map(([value, text]) => make("option", { value, text })));
    const bar = make("div", { class: "bar-top", role: "toolbar", "aria-label": "State" }, this.back, this.forth, can.has("tours") && hello.tours?.length ? tours : null, can.has("copies") ? copy : null, save);
    this.status = make("p", { class: "status", role: "status" });
    this.error = make("pre", { class: "error", role: "alert", hidden: true });
    this.side = make("form", { class: "controls", "aria-label": "Scenario", onsubmit: (e) => e.preventDefault() });
    this.controls = new Controls(this.side, (...a) => this.change(...a), this.only?.controls);
    const pasted = make("textarea", { rows: 6, "aria-label": "A scenario as TOML or JSON", placeholder: "Paste a scenario here" });
    const paste = make("details", { class: "paste" }, make("summary", { text: "Another scenario" }), pasted, button("Load this scenario", () => this.carrier.send({ do: "read", text: pasted.value })));
    this.tour = make("div");
    this.charts = make("div", { class: "charts" });
    this.losses = make("section", { class: "chart losses", "aria-label": "Drops and marks" });
    this.table = make("section", { class: "numbers", "aria-label": "Numbers" });
    this.packets = make("section", { class: "packets", "aria-label": "Packets one by one" });
    this.more = this.only ? make("a", { target: "_blank", rel: "noopener", text: "Open it in the lab" }) : null;
    const header = this.only ? make("header", {}, make("h1", { class: "unseen", text: "tailback lab: values to move" }), this.more) : make("header", {}, make("h1", { text: "tailback lab" }), bar);
    this.apart = make("p", { class: "apart" });
    this.start = make("input", { type: "checkbox", id: "scale-start", checked: true, onchange: () => this.draw() });
    const scale = make("p", { class: "scale" }, this.start, make("label", { for: "scale-start", text: "Scale without the warm-up" }));
    const aside = make("aside", {}, make("details", { open: Boolean(this.only) || innerWidth > 768 }, make("summary", { text: live ? "Scenario" : "Values" }), this.side, live && !this.only ? this.second(button) : null, live && !this.only ? paste : null));
    this.root.classList.toggle("only", Boolean(this.only));
    const main = make("main", {}, this.tour, this.status, this.apart, this.error, scale, this.charts, this.table, can.has("packets") ? this.packets : null);
    this.root.replaceChildren(header, make("div", { class: "columns" }, aside, main));
    this.makeCharts();
    if (can.has("packets")) this.makePackets();
    if (this.carrier.axes) this.showAxes();
    this.steps();
    // A frame in another page is as high as what it shows.
    if (this.only && parent !== window) new ResizeObserver(() => parent.postMessage({ tailbackHeight: this.root.scrollHeight + 4 }, "*")).observe(this.root);
  }

  second(button) {
    this.beside = button("", () => {
      const first = at(this.state.document, this.queuePath());
      this.state = copied(this.state);
      this.state.beside = this.state.beside ? null : copied(first ?? { kind: "codel" });
      this.full(performance.now());
    });
    return make("p", {}, this.beside);
  }

  makeCharts() {
    const time = { kind: "time", sync: "time", point: (x) => this.pointed(x) };
    const chart = (id, title, unit, more = {}) => new Chart(this.charts, { id, title, unit, ...more });
    this.queue = chart("queue", "Queue", "packets", time);
    this.sojourn = chart("sojourn", "Time in the queue, mean of each interval", "ms", time);
    this.windows = [0, 1].map((i) => chart(`windows-${i}`, "Windows", "segments", time));
    this.bars = [0, 1].map((i) => chart(`goodput-${i}`, "Goodput of each flow", "Mb/s", { kind: "bars" }));
    this.delay = chart("delay", "Share of packets by time in the queue", "%", { kind: "value" });
    this.delay.xUnit = "ms";
    this.decisions = chart("decisions", "Drops and marks in each interval", "packets", time);
    this.charts.append(this.losses);
    if (this.only) for (const c of this.all()) c.box.hidden = !this.only.charts.includes(c.id);
  }

  all() {
    return [this.queue, this.sojourn, ...this.windows, ...this.bars, this.delay, this.decisions];
  }

  makePackets() {
    this.watching = make("input", { type: "checkbox", id: "watch-packets", onchange: () => this.watch() });
    this.watched = make("select", { "aria-label": "Which run", onchange: () => this.ask_packets() });
    this.instant = make("input", { type: "number", min: 0, step: "any", value: 1, "aria-label": "Instant, seconds", onchange: () => this.ask_packets() });
    this.found = make("div");
    const head = make("div", { class: "row-flat" }, this.watching, make("label", { for: "watch-packets", text: "Show the packets at the pointer" }), this.watched, this.instant, make("span", { text: "s" }));
    this.packets.append(make("h2", { text: "Packets one by one" }), head, this.found);
  }

  showAxes() {
    const rows = this.carrier.axes.map((axis, i) => ({ path: ["grid", String(i)], label: axis.label, doc: axis.doc, kind: "axis", default: null, value: axis.values[this.state.grid[i]], choices: axis.values }));
    this.controls.show([{ title: "Values", controls: rows }]);
  }

  listeners() {
    dark.addEventListener("change", () => this.picture && this.draw());
    this.root.addEventListener("keydown", (e) => {
      if (!e.altKey || this.carrier.can.has("history")) return;
      if (e.key === "ArrowLeft") this.go(-1);
      if (e.key === "ArrowRight") this.go(1);
    });
    if (this.carrier.can.has("history")) addEventListener("popstate", (e) => e.state && this.restore(e.state.lab));
  }

  // A control was set.
  change(path, value, event, over) {
    this.state = copied(this.state);
    if (path[0] === "grid") {
      this.state.grid[+path[1]] = this.carrier.axes[+path[1]].values.indexOf(value);
      return this.full(event.timeStamp);
    }
    const beside = path[0] === "beside";
    const rest = beside ? path.slice(1) : path;
    const owner = beside ? this.state.beside : this.state.document;
    if (value && value.keeps !== undefined) {
      const old = beside ? this.state.beside : at(owner, rest);
      // Two disciplines have the same buffer, unless the person says otherwise.
      const first = at(this.state.document, this.queuePath())?.buffer;
      const buffer = value.keeps ? (old.buffer ?? first) : undefined;
      value = { kind: value.kind, ...(buffer ? { buffer } : {}) };
    }
    if (beside && !rest.length) this.state.beside = value;
    else put(owner, rest, value);
    // The buffer slider is of both disciplines.
    if (!beside && rest.at(-1) === "buffer" && this.state.beside?.buffer) this.state.beside.buffer = value;
    if (over) this.full(event.timeStamp);
    else this.coarse(event.timeStamp);
  }

  // While a value is dragged: one coarse run at a time; what is set meanwhile is an input when that is drawn.
  coarse(stamp) {
    if (this.flying === "coarse") this.pending = stamp;
    else this.ask("coarse", stamp);
  }

  full(stamp, quiet = false) {
    this.pending = null;
    if (!quiet || this.place < 0) this.remember();
    this.ask("full", stamp);
  }

  ask(mode, stamp) {
    this.flying = mode;
    this.input += 1;
    this.asked = { input: this.input, stamp, mode };
    if (mode === "full") this.status.textContent = "running …";
    this.root.dataset.state = "running";
    const columns = Math.round(this.queue.frame.clientWidth * devicePixelRatio) || 600;
    this.carrier.send({ do: "state", input: this.input, mode, columns, state: this.state });
  }

  take(header, numbers, bytes) {
    const take = { picture: this.takePicture, refused: this.takeRefused, packets: this.takePackets, copy: this.takeCopy, figure: this.takeFigure, read: this.takeRead, tour: this.takeTour };
    take[header.do]?.call(this, header, numbers, bytes);
  }

  takePicture(header, numbers) {
    // An answer to an older input is never drawn.
    if (header.input !== this.asked.input) return;
    // The first picture of the program's page is coarse; the full one of the same input follows.
    const follows = header.mode === "coarse" && this.asked.mode === "full";
    if (!follows) this.flying = null;
    this.error.hidden = true;
    this.picture = header;
    this.numbers = numbers;
    this.draw();
    if (header.controls) this.controls.show(header.controls);
    const { input, stamp } = this.asked;
    const mode = follows ? "coarse" : this.asked.mode;
    if (mode === "full") this.watch();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.times.push({ input, mode, ms: performance.now() - stamp, run_ms: header.took_ms });
      if (this.times.length > 4000) this.times.splice(0, 2000);
    }));
    if (this.pending) {
      const next = this.pending;
      this.pending = null;
      this.ask("coarse", next);
    }
  }

  takeRefused(header) {
    if (header.input !== null && header.input !== this.asked.input) return;
    if (header.input !== null) {
      this.flying = null;
      this.root.dataset.state = "refused";
      this.status.textContent = "This scenario cannot be run; the pictures are of the last one that could.";
    }
    this.complain(header.text);
  }

  complain(text) {
    this.error.textContent = text;
    this.error.hidden = false;
  }

  part(place) {
    return this.numbers.subarray(place[0], place[0] + place[1]);
  }

  draw() {
    const p = this.picture;
    const twins = p.runs.length > 1 && p.runs[0].queue === p.runs[1].queue;
    p.runs.forEach((r, i) => {
      r.label = twins ? `${r.queue} (${i + 1})` : r.queue;
      r.jain = jain([...this.part(r.flows.goodput)].filter((v) => isFinite(v)));
      Object.assign(r, SIDES[i]);
    });
    const coarse = p.mode === "coarse";
    this.root.dataset.state = p.mode;
    const left = p.warmup ? `, the first ${digits(p.warmup)} s not counted` : "";
    this.status.textContent = `${coarse ? `coarse: the first ${digits(p.seconds)} s` : `full run: ${digits(p.seconds)} s`}${left}; seed ${p.seed}, the same traffic for all${p.took_ms === undefined ? "" : `; computed in ${digits(p.took_ms)} ms`}${p.warnings.map((w) => `. Warning: ${w}`).join("")}`;
    this.drawTimes(p);
    this.drawApart();
    if (this.more) this.more.href = `${location.href.split("#")[0]}#s=${this.address()}`;
    this.root.classList.toggle("single", p.runs.length < 2);
    this.root.classList.toggle("no-windows", !p.runs.some((r) => r.series.some((s) => s.probe === "cwnd")));
    p.runs.forEach((r, i) => this.drawRun(r, i, p.seconds));
    this.drawDelay(p);
    hold(this.losses, lossesTable(p));
    hold(this.table, make("div", {}, make("h2", { text: "Numbers" }), numbersTable(p)));
    if (this.beside) this.beside.textContent = p.runs.length > 1 ? "Show one discipline" : "Add a second discipline";
    if (this.watched && this.watched.options.length !== p.runs.length) this.watched.replaceChildren(...p.runs.map((r, i) => make("option", { value: i, text: r.label })));
    if (this.watched) p.runs.forEach((r, i) => (this.watched.options[i].textContent = r.label));
  }

  joined(pairs) {
    const same = pairs.every(([x]) => x.length === pairs[0][0].length && x[0] === pairs[0][0][0] && x.at(-1) === pairs[0][0].at(-1));
    if (pairs.length && same && pairs.every(([x]) => x.every((v, i) => v === pairs[0][0][i]))) return [pairs[0][0], ...pairs.map(([, y]) => y)];
    return pairs.length ? uPlot.join(pairs.map((p) => p.map((a) => Array.from(a)))) : [[0], []];
  }

  drawTimes(p) {
    const lines = [], pairs = [];
    for (const [i, r] of p.runs.entries()) {
      const unit = (s) => s.unit === "" || s.unit === "packets" || s.unit === "unit of the buffer";
      for (const s of r.series.filter((s) => s.what.startsWith("link.") && unit(s))) {
        const own = s.probe !== "queue";
        lines.push({ label: own ? `${r.label}, ${s.probe}` : r.label, colour: own ? AVERAGES[i] : r.colour, dashed: !own && r.dashed });
        pairs.push([this.part(s.t), this.part(s.v)]);
      }
    }
    this.queue.draw(lines, this.joined(pairs), p.seconds, p.warmup, this.start.checked);
    const waits = p.runs.map((r) => [this.part(r.sojourn.t), this.part(r.sojourn.v).map((v) => v * 1e3)]);
    this.sojourn.draw(p.runs.map((r) => ({ label: r.label, colour: r.colour, dashed: r.dashed })), this.joined(waits), p.seconds, p.warmup);
    this.drawDecisions(p);
  }

  // What is dropped, and what is marked if anything is.
  drawDecisions(p) {
    const lines = [], pairs = [];
    for (const [i, r] of p.runs.entries()) {
      const [drops, marks] = [this.part(r.decisions.drops), this.part(r.decisions.marks)];
      lines.push({ label: `${r.label}, drops`, colour: r.colour, dashed: r.dashed });
      pairs.push([this.part(r.decisions.t), drops]);
      if (!marks.some((n) => n > 0)) continue;
      lines.push({ label: `${r.label}, marks`, colour: AVERAGES[i], dashed: r.dashed });
      pairs.push([this.part(r.decisions.t), marks]);
    }
    this.decisions.draw(lines, this.joined(pairs), p.seconds, p.warmup);
  }

  // Where the queue of the shown link stands in the document.
  queuePath() {
    const name = this.picture?.link ?? Object.entries(this.state.document.link || {}).find(([, l]) => l.queue?.kind)?.[0];
    return ["link", name, "queue"];
  }

  // What differs beside the discipline is said.
  drawApart() {
    const [own, other] = [at(this.state.document, this.queuePath())?.buffer, this.state.beside?.buffer];
    const apart = this.state.beside && own !== other && (own || other);
    this.apart.textContent = apart ? `The two have different buffers: ${own ?? "its default"} and ${other ?? "its default"}.` : "";
    this.apart.hidden = !apart;
  }

  drawRun(r, i, seconds) {
    const windows = r.series.filter((s) => s.probe === "cwnd");
    const group = (what) => what.split(".")[1];
    const groups = [...new Set(windows.map((s) => group(s.what)))];
    const few = windows.length <= TURNS.length;
    const colour = (s, k) => TURNS[(few ? k : groups.indexOf(group(s.what))) % TURNS.length];
    const lines = windows.map((s, k) => ({ label: s.what.replace("flows.", ""), legend: few ? undefined : group(s.what), colour: colour(s, k), thin: !few }));
    this.windows[i].named(`Windows, ${r.label}`);
    this.windows[i].draw(lines, this.joined(windows.map((s) => [this.part(s.t), this.part(s.v)])), seconds, this.picture.warmup, this.start.checked);
    const goodput = [...this.part(r.flows.goodput)].map((v) => v / 1e6);
    const order = goodput.map((v, k) => k).sort((a, b) => goodput[a] - goodput[b]);
    const names = [...new Set(r.flows.groups)];
    const columns = names.map((g) => order.map((k) => (r.flows.groups[k] === g ? goodput[k] : null)));
    const fair = order.map(() => r.flows.fair / 1e6);
    const bars = names.map((g, k) => ({ label: g, colour: names.length > 1 ? TURNS[k % TURNS.length] : r.colour }));
    const line = { label: `equal share, ${digits(r.flows.fair / 1e6)} Mb/s`, colour: "#222222", dashed: true, line: true };
    this.bars[i].named(`Goodput of each flow, ${r.label}`);
    this.bars[i].draw([...bars, line], [order.map((k, n) => n + 1), ...columns, fair], order.length || 1);
  }

  drawDelay(p) {
    const runs = p.runs.filter((r) => r.delay);
    const pairs = runs.map((r) => {
      const [x, y] = [this.part(r.delay.seconds).map((v) => v * 1e3), this.part(r.delay.share).map((v) => v * 100)];
      // Several percentages may have one time: the greatest counts.
      const keep = [...x.keys()].filter((k) => k === x.length - 1 || x[k] !== x[k + 1]);
      return [keep.map((k) => x[k]), keep.map((k) => y[k])];
    });
    const most = Math.max(0.1, ...pairs.map(([x]) => x.at(-1)));
    this.delay.draw(runs.map((r) => ({ label: r.label, colour: r.colour, dashed: r.dashed })), this.joined(pairs), most);
  }

  // The pointer is at an instant.
  pointed(x) {
    if (!this.watching?.checked) return;
    this.instant.value = Math.max(0, x).toFixed(4);
    this.ask_packets();
  }

  // Every instant of a run is computed ahead, and the present one is shown.
  watch() {
    if (!this.watching?.checked) return;
    this.carrier.send({ do: "watch", state: this.state, side: +this.watched.value || 0 });
    this.ask_packets();
  }

  ask_packets() {
    if (!this.watching.checked) return;
    if (this.seeking) return void (this.sought = true);
    this.seeking = performance.now();
    this.carrier.send({ do: "packets", state: this.state, side: +this.watched.value || 0, at: +this.instant.value });
    setTimeout(() => (this.seeking = null), 3000);
  }

  takePackets(header) {
    this.packets_ms = performance.now() - this.seeking;
    this.seeking = null;
    hold(this.found, packetsPanel(header));
    if (this.sought) {
      this.sought = false;
      this.ask_packets();
    }
  }

  remember() {
    this.past.splice(this.place + 1);
    this.past.push(copied(this.state));
    if (this.past.length > 200) this.past.shift();
    this.place = this.past.length - 1;
    if (this.carrier.can.has("history")) history[this.place ? "pushState" : "replaceState"]({ lab: this.place }, "");
    this.steps();
  }

  go(step) {
    if (this.carrier.can.has("history")) return history.go(step);
    this.restore(this.place + step);
  }

  restore(place) {
    if (place < 0 || place >= this.past.length) return;
    this.place = place;
    this.state = copied(this.past[place]);
    if (this.carrier.axes) this.showAxes();
    this.steps();
    this.pending = null;
    this.ask("full", performance.now());
  }

  steps() {
    this.back.disabled = this.place <= 0;
    this.forth.disabled = this.place >= this.past.length - 1;
  }

  copy(select) {
    const kind = select.value;
    select.value = "";
    if (kind === "link") return this.link();
    this.carrier.send({ do: "copy", kind, state: this.state });
  }

  // The state as it stands in an address.
  address() {
    return encode(JSON.stringify({ ...this.state, version: this.version }));
  }

  // A state as an address; one that is too long for that as a file.
  link() {
    const text = this.address();
    if (text.length <= LONGEST_LINK) return this.clip(`${location.href.split("#")[0]}#s=${text}`, "The link");
    this.carrier.send({ do: "copy", kind: "file", state: this.state });
  }

  takeCopy(header) {
    if (header.kind === "file") {
      saved("scenario.toml", new Blob([header.toml], { type: "text/plain" }));
      return this.complain("The state is too long for a link. The scenario was saved as scenario.toml; paste its text into `Another scenario`. The second discipline stands in its first line.");
    }
    this.clip(header[header.kind], { toml: "The scenario", python: "The program", command: "The command" }[header.kind]);
  }

  clip(text, what) {
    this.copied = text;
    const said = () => (this.status.textContent = `${what} is copied.`);
    (navigator.clipboard?.writeText(text) || Promise.reject()).then(said, () => this.complain(text));
  }

  save(select) {
    const kind = select.value;
    select.value = "";
    const charts = this.all().filter((c) => c.plot && c.box.offsetParent);
    if (kind === "png") charts.forEach((c) => c.png());
    else if (kind === "csv") charts.forEach((c) => c.csv());
    else if (kind) {
      const [what, type] = kind.split(".");
      this.carrier.send({ do: "figure", what, kind: type, state: this.state });
    }
  }

  takeFigure(header, numbers, bytes) {
    saved(header.name, new Blob([bytes.slice(0, header.bytes)], { type: header.type }));
  }

  takeRead(header) {
    this.state = header.state;
    this.full(performance.now());
  }

  takeTour(header) {
    this.state = header.state;
    this.startTour(header);
    this.full(performance.now());
  }

  // A tour asks before it shows: the pictures wait for the prediction.
  startTour(tour) {
    const end = () => {
      this.tour.replaceChildren();
      delete this.root.dataset.tour;
    };
    this.root.dataset.tour = "asks";
    this.toured = tour;
    this.tour.replaceChildren(tourPanel(tour, () => this.told(), end));
  }

  // The prediction is made.
  told() {
    this.root.dataset.tour = "shows";
    for (const c of this.all()) c.resize();
    const place = this.tour.querySelector(".study-plot");
    if (place && this.toured.study.points.length) studyFigure(place, this.toured.study, this.drops());
  }

  // Drops of the first run so far, against the time since the first interval with one.
  drops() {
    const run = this.picture?.runs[0];
    if (!run) return null;
    const [t, n] = [this.part(run.decisions.t), this.part(run.decisions.drops)];
    const first = n.findIndex((x) => x > 0);
    let sum = 0;
    return first < 0 ? null : { label: `drops of ${run.queue} in this run`, points: [...t.keys()].slice(first).map((i) => [t[i] - t[Math.max(0, first - 1)], (sum += n[i])]) };
  }
}
