// What stands below the pictures: numbers in a table, packets one by one, a tour.

const numbersTable = (picture) => {
  const cell = (value, unit) => (unit === "%" ? `${digits(100 * value)} %` : quantity(value, unit));
  const head = make("tr", {}, make("th", { scope: "col", text: "measure" }), ...picture.runs.map((r) => make("th", { scope: "col", text: r.label })));
  const body = picture.measures.map((m) => make("tr", {}, make("th", { scope: "row", text: m.title }), ...picture.runs.map((r) => make("td", { text: cell(at(r, m.at), m.unit) }))));
  const title = `${picture.mode === "coarse" ? "Coarse: the first " : ""}${digits(picture.seconds)} s at ${picture.link}`;
  return make("table", {}, make("caption", { text: title }), make("thead", {}, head), make("tbody", {}, ...body));
};

// Drops and marks by reason, a bar for each.
const lossesTable = (picture) => {
  const keys = [...new Set(picture.runs.flatMap((r) => r.losses.map(([event, why]) => `${event}: ${why}`)))].sort();
  const most = Math.max(1, ...picture.runs.flatMap((r) => r.losses.map(([, , n]) => n)));
  const cell = (r, key) => {
    const n = r.losses.find(([event, why]) => `${event}: ${why}` === key)?.[2] ?? 0;
    const bar = make("i", { class: "bar", style: `width:${(4 * n) / most}em;--c:${shade(r.colour)}` });
    return make("td", {}, bar, ` ${n}`);
  };
  const head = make("tr", {}, make("th", { scope: "col", text: "event and reason" }), ...picture.runs.map((r) => make("th", { scope: "col", text: r.label })));
  const none = make("tr", {}, make("td", { colspan: picture.runs.length + 1, text: "nothing was dropped or marked" }));
  const rows = keys.map((k) => make("tr", {}, make("th", { scope: "row", text: k }), ...picture.runs.map((r) => cell(r, k))));
  return make("table", {}, make("caption", { text: "Drops and marks by reason, packets" }), make("thead", {}, head), make("tbody", {}, ...(rows.length ? rows : [none])));
};

// What waits, what the discipline knows, and what it has decided last.
const packetsPanel = (found) => {
  const waiting = found.waiting.map(([flow, packets, bytes]) =>
    make("tr", {}, make("th", { scope: "row", text: flow }), make("td", { text: packets }), make("td", { text: bytes })),
  );
  const total = found.waiting.reduce((n, w) => n + w[1], 0);
  const names = found.probes.map(([name]) => name);
  const log = found.log.slice().reverse().map(([t, flow, sequence, bytes, what, place, why, values]) =>
    make("tr", { class: what }, ...[t.toFixed(6), flow, sequence, bytes, place ? `${what} (${place})` : what, why, ...values.map((v) => digits(v))].map((x) => make("td", { text: x }))),
  );
  const table = (caption, heads, rows) =>
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {}, make("caption", { text: caption }), make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col", text: h })))), make("tbody", {}, ...rows)));
  const known = found.probes.map(([name, unit, v]) => `${name} ${quantity(v, unit === "1" ? "" : unit)}`).join(", ");
  return make(
    "div", { class: "packets-found" },
    make("p", { text: `${found.queue} at ${found.at.toFixed(4)} s: ${total} packets wait. ${known}` }),
    table("What waits, by flow", ["flow", "packets", "bytes"], waiting),
    table("The last decisions, the newest first", ["time (s)", "flow", "sequence", "bytes", "what", "reason", ...names], log),
  );
};

// A question, a prediction, and what comes of it.
const tourPanel = (tour, told, end) => {
  const answer = make("div", { class: "answer", "aria-live": "polite" });
  const reveal = (choice) => {
    answer.replaceChildren(
      make("p", {}, make("strong", { text: choice.right ? "As predicted. " : "Not as predicted. " }), tour.why),
      make("ul", {}, ...[...new Set(tour.checked.map((c) => c.said))].map((said) => make("li", { text: said }))),
      ...(tour.fails.length ? [make("p", { text: `The claim does not hold with ${tour.fails.join(", ")}: ${tour.fails_because}` })] : []),
      ...(tour.study ? [make("figure", { class: "study" }, make("blockquote", { text: tour.study.says }), make("div", { class: "study-plot" }), make("figcaption", { text: tour.study.figure ? `${tour.study.citation}. Drawn: ${tour.study.figure}.` : tour.study.citation }))] : []),
    );
    told();
  };
  const choices = tour.choices.map((c, i) =>
    make("label", {}, make("input", { type: "radio", name: "prediction", value: i, onchange: () => reveal(c) }), c.text),
  );
  return make(
    "section", { class: "tour", "aria-label": `Tour: ${tour.title}` },
    make("h2", { text: tour.title }),
    make("p", { text: tour.question }),
    make("fieldset", {}, make("legend", { text: "What do you predict?" }), ...choices),
    answer,
    make("button", { type: "button", text: "End the tour", onclick: end }),
  );
};

// Points that a study has, and what came of the run beside them: {label, points}.
const studyFigure = (parent, study, run) => {
  const t = theme();
  const axis = (label) => ({ label, stroke: t.faint, grid: { stroke: t.grid }, font: "12px system-ui", labelFont: "12px system-ui", values: (u, all) => all.map(digits) });
  parent.setAttribute("role", "img");
  parent.setAttribute("aria-label", `${study.y} against ${study.x}: ${study.points.map(([x, y]) => `${x}, ${y}`).join("; ")}`);
  const most = Math.max(...study.points.map(([x]) => x));
  const beside = study.beside && run ? run.points.filter(([x]) => x <= most) : [];
  const look = (colour, points) => ({ stroke: shade(colour), width: 1.4, spanGaps: true, points: { show: points, size: 7 } });
  const options = { width: Math.max(240, Math.min(520, parent.clientWidth || 420)), height: 240, legend: { show: false }, scales: { x: { time: false } }, axes: [axis(study.x), { ...axis(study.y), size: 60 }], series: [{}, look("#D55E00", true), look("#222222", false)] };
  const columns = (points) => [points.map((p) => p[0]), points.map((p) => p[1])];
  new uPlot(options, uPlot.join([columns(study.points), columns(beside)]), parent);
  const legend = (colour, label) => make("span", {}, make("i", { style: `--c:${shade(colour)}` }), label);
  parent.after(make("div", { class: "legend" }, legend("#D55E00", study.figure), beside.length ? legend("#222222", run.label) : null));
};
