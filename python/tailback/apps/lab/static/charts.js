// One picture: a canvas by uPlot, a line of values under the pointer, a cursor that keys move.

const THEMES = {
  light: { ink: "#222222", grid: "#e3e3e3", faint: "#5c5c5c", swap: {} },
  // Black lines would not be seen on black; deep blue and brown hardly.
  dark: { ink: "#e6e6e6", grid: "#3a3a3a", faint: "#b0b0b0", swap: { "#222222": "#f0f0f0", "#0072B2": "#5aa9dc", "#8B4513": "#e3bd98" } },
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => THEMES[dark.matches ? "dark" : "light"];
// The looks of the first discipline and of the second.
const SIDES = [{ colour: "#222222", dashed: false }, { colour: "#D55E00", dashed: true }];
const shade = (colour) => theme().swap[colour] || colour;

// What each of them averages.
const AVERAGES = ["#0072B2", "#009E73"];

// In turn, for lines and bars that are of no discipline; those of the figures.
const TURNS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222", "#8B4513"];

class Chart {
  // `kind`: lines against time, lines against a value, or bars. `point(x)` is told where the pointer is.
  constructor(parent, { id, title, unit, kind, point, sync }) {
    Object.assign(this, { id, title, unit, kind, point, sync });
    this.frame = make("div", { class: "plot", tabindex: "0", role: "img", "aria-roledescription": "chart", "aria-describedby": `values-${id}` });
    this.heading = make("h2", { class: "small" });
    // A picture for a whole room.
    const fills = () => this.box.classList.toggle("fills");
    this.fill = make("button", { type: "button", class: "fill", "aria-pressed": "false", title: "Fill the window with this picture, or give the others their place again (Escape)", "aria-label": `Fill the window: ${title}`, text: "⤢" });
    this.fill.addEventListener("click", () => this.fill.setAttribute("aria-pressed", String(fills())));
    this.values = make("output", { class: "values", id: `values-${id}` });
    this.legend = make("div", { class: "legend" });
    this.box = make("section", { class: "chart", "data-chart": id, "aria-label": title }, make("div", { class: "chart-head" }, this.heading, this.fill), this.legend, this.frame, this.values);
    parent.append(this.box);
    this.named(title);
    this.frame.addEventListener("keydown", (e) => this.key(e));
    this.box.addEventListener("keydown", (e) => e.key === "Escape" && this.box.classList.contains("fills") && this.fill.click());
    this.plot = null;
    this.most = 1;
    new ResizeObserver(() => this.resize()).observe(this.frame);
  }

  named(title) {
    this.title = title;
    this.heading.textContent = `${title} (${this.unit})`;
    this.box.setAttribute("aria-label", title);
  }

  size() {
    return { width: Math.max(200, this.frame.clientWidth), height: Math.max(120, this.frame.clientHeight) };
  }

  resize() {
    const { width, height } = this.size();
    if (this.plot && (this.plot.width !== width || this.plot.height !== height)) this.plot.setSize({ width, height });
  }

  // `lines`: {label, colour, dashed, thin}; data as uPlot has it; `most`: the end of the axis; `left`: so much of its
  // beginning is not counted.
  // `counted`: the scale is that of the rest.
  draw(lines, data, most, left = 0, counted = false) {
    this.lines = lines;
    this.most = most;
    this.left = left;
    this.top = counted && left > 0 ? this.greatest(data, left) : null;
    const look = JSON.stringify([lines, dark.matches]);
    if (this.plot && this.look === look) {
      this.plot.setData(data);
    } else {
      this.plot?.destroy();
      this.look = look;
      this.plot = new uPlot(this.options(lines), data, this.frame);
      this.legend.replaceChildren(...this.legends(lines));
    }
    this.frame.setAttribute("aria-label", this.summary());
  }

  // The greatest value from an instant on.
  greatest(data, from) {
    const first = data[0].findIndex((x) => x >= from);
    if (first < 0) return null;
    let most = 0;
    for (const values of data.slice(1)) for (let i = first; i < values.length; i++) if (values[i] > most) most = values[i];
    return most || null;
  }

  legends(lines) {
    const shown = new Map(lines.filter((l) => l.legend !== null).map((l) => [l.legend || l.label, l]));
    if (shown.size > 8) return [make("span", { text: `${shown.size} lines` })];
    return [...shown].map(([label, l]) =>
      make("span", {}, make("i", { class: l.dashed ? "dashed" : "", style: `--c:${shade(l.colour)}` }), label),
    );
  }

  options(lines) {
    const t = theme();
    const axis = { stroke: t.faint, grid: { stroke: t.grid, width: 1 }, ticks: { stroke: t.grid, width: 1 }, font: "12px system-ui" };
    const bars = this.kind === "bars" ? uPlot.paths.bars({ size: [0.8, 60] }) : null;
    return {
      ...this.size(),
      legend: { show: false },
      scales: { x: { time: false, range: () => (bars ? [0.4, this.most + 0.6] : [0, this.most || 1]) }, y: { range: (u, low, high) => [Math.min(0, low ?? 0), this.top ? this.top * 1.05 : (high ?? 0) > 0 ? high * 1.05 : 1] } },
      axes: [
        { ...axis, size: 44, label: { time: "time (s)", bars: "flow, by goodput", value: `waited at most (${this.xUnit || ""})` }[this.kind], labelSize: 18, labelFont: "12px system-ui", labelGap: 0, values: (u, all) => all.map((v) => (bars && v % 1 ? "" : digits(v))) },
        { ...axis, size: 52, values: (u, all) => all.map(digits) },
      ],
      cursor: { sync: this.sync ? { key: this.sync } : undefined, drag: { x: false, y: false }, points: { show: lines.length < 4 } },
      hooks: { setCursor: [() => this.read()], drawClear: [(u) => this.shadeLeft(u)] },
      series: [
        {},
        ...lines.map((l) => ({
          label: l.label,
          stroke: shade(l.colour),
          fill: bars && !l.line ? shade(l.colour) : undefined,
          width: l.thin ? 0.7 : 1.4,
          dash: l.dashed ? [6, 3] : undefined,
          alpha: l.thin ? 0.7 : 1,
          spanGaps: true,
          points: { show: false },
          paths: bars && !l.line ? bars : undefined,
        })),
      ],
    };
  }

  // What the numbers do not count is drawn on grey.
  shadeLeft(u) {
    if (!(this.left > 0)) return;
    const { left, top, width, height } = u.bbox;
    const end = Math.min(u.valToPos(this.left, "x", true), left + width);
    u.ctx.save();
    u.ctx.globalAlpha = 0.5;
    u.ctx.fillStyle = theme().grid;
    u.ctx.fillRect(left, top, end - left, height);
    u.ctx.restore();
  }

  // The values at the cursor: of a few lines all, of many the least and the greatest.
  read() {
    const u = this.plot;
    if (!u || u.cursor.left < 0 || u.cursor.left === undefined) return;
    const x = u.posToVal(u.cursor.left, "x");
    this.values.textContent = this.said(x);
    if (this.point && u.cursor.event) this.point(x);
  }

  said(x) {
    const found = this.lines.map((l, i) => [l.label, this.near(i + 1, x)]).filter(([, v]) => v !== null);
    const all = found.map(([, v]) => v);
    const where = this.kind === "time" ? `${digits(x)} s` : this.kind === "bars" ? `flow ${Math.round(x)}` : quantity(x, this.xUnit || "s");
    if (!found.length) return where;
    if (found.length > 4) return `${where}: ${digits(Math.min(...all))} to ${digits(Math.max(...all))} ${this.unit}`;
    return `${where}: ${found.map(([label, v]) => `${label} ${digits(v)} ${this.unit}`).join(", ")}`;
  }

  // The value of a line at or before x.
  near(series, x) {
    const [xs, ys] = [this.plot.data[0], this.plot.data[series]];
    let low = 0, high = xs.length;
    const target = this.kind === "bars" ? Math.round(x) : x;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= target) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= 0; i--) if (ys[i] !== null && ys[i] !== undefined) return ys[i];
    return null;
  }

  key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (step === undefined || !this.plot) return;
    e.preventDefault();
    const width = this.plot.over.clientWidth;
    const now = this.plot.cursor.left >= 0 ? this.plot.cursor.left : 0;
    const left = Math.min(width - 1, Math.max(0, now + step * (e.shiftKey ? 20 : 3)));
    this.plot.setCursor({ left, top: this.plot.over.clientHeight / 2 });
    const x = this.plot.posToVal(left, "x");
    this.values.textContent = this.said(x);
    this.point?.(x);
  }

  summary() {
    const words = this.lines.slice(0, 4).map((l, i) => {
      const all = [...this.plot.data[i + 1]].filter((v) => v !== null && isFinite(v));
      if (!all.length) return `${l.label}: no values`;
      const mean = all.reduce((a, b) => a + b, 0) / all.length;
      const most = all.reduce((a, b) => Math.max(a, b), -Infinity);
      return `${l.label}: mean ${digits(mean)}, greatest ${digits(most)} ${this.unit}`;
    });
    if (this.lines.length > 4) words.push(`${this.lines.length} lines in all`);
    return `${this.title}. ${words.join("; ")}. Arrow keys move along it.`;
  }

  // A picture with its title on the page's ground.
  png() {
    const source = this.plot.root.querySelector("canvas");
    const canvas = make("canvas", { width: source.width, height: source.height + 40 });
    const c = canvas.getContext("2d");
    c.fillStyle = getComputedStyle(this.box).backgroundColor;
    c.fillRect(0, 0, canvas.width, canvas.height);
    c.fillStyle = theme().ink;
    c.font = "600 24px system-ui";
    c.fillText(this.title, 16, 28);
    c.drawImage(source, 0, 40);
    canvas.toBlob((blob) => saved(`${this.id}.png`, blob));
  }

  csv() {
    const rows = [[this.kind === "time" ? "time_s" : "x", ...this.lines.map((l) => `${l.label} (${this.unit})`)]];
    const data = this.plot.data;
    for (let i = 0; i < data[0].length; i++) rows.push(data.map((column) => column[i] ?? ""));
    const cell = (x) => (/[",\n]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
    saved(`${this.id}.csv`, new Blob([rows.map((r) => r.map(cell).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  }
}
