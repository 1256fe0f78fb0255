// Elements, numbers and quantities as text.

const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "text") e.textContent = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
};

// Make an element what another of the same shape is, without laying it out anew; put the other in its place if not.
const become = (old, fresh) => {
  const texts = old.nodeType === 3 && fresh.nodeType === 3;
  if (texts) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeName !== fresh.nodeName || old.childNodes.length !== fresh.childNodes.length) {
    old.replaceWith(fresh);
    return;
  }
  for (const a of fresh.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
  const parts = [...fresh.childNodes];
  [...old.childNodes].forEach((child, i) => become(child, parts[i]));
};

// One element is all that a parent has.
const hold = (parent, fresh) => {
  if (parent.childNodes.length === 1) become(parent.firstChild, fresh);
  else parent.replaceChildren(fresh);
};

// Three digits.
const digits = (x) => {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  if (x === 0) return "0";
  const a = Math.abs(x);
  if (a >= 100) return x.toFixed(0);
  return String(+x.toPrecision(3));
};

const UNITS = {
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
  "bit/s": [[1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]],
};

// A value with its unit: 0.0123 s is 12.3 ms.
const quantity = (x, unit) => {
  if (x === null || x === undefined || !isFinite(x)) return "–";
  const steps = UNITS[unit];
  if (!steps) return `${digits(x)} ${unit}`.trim();
  const step = steps.find(([size]) => Math.abs(x) >= size) || steps[steps.length - 1];
  return `${digits(x / step[0])} ${step[1]}`;
};

// A number as a scenario has it.
const written = (x, kind) => {
  if (kind === "time") return x >= 1 ? `${digits(x)}s` : x >= 1e-3 ? `${digits(x * 1e3)}ms` : `${digits(x * 1e6)}us`;
  if (kind === "rate") return x >= 1e6 ? `${+(x / 1e6).toPrecision(3)}Mbps` : `${+(x / 1e3).toPrecision(3)}kbps`;
  if (kind === "bytes") return `${Math.round(x)}B`;
  if (kind === "count") return Math.round(x);
  return +x.toPrecision(3);
};

const at = (object, path) => path.reduce((o, k) => (o === null || o === undefined ? undefined : o[k]), object);

// Set what stands at a path, with the tables on the way; undefined removes it.
const put = (object, path, value) => {
  let o = object;
  for (const k of path.slice(0, -1)) {
    if (typeof o[k] === "string") o[k] = { kind: o[k] };
    if (typeof o[k] !== "object" || o[k] === null) o[k] = {};
    o = o[k];
  }
  const last = path[path.length - 1];
  if (value === undefined) delete o[last];
  else o[last] = value;
};

const copied = (x) => JSON.parse(JSON.stringify(x));

const encode = (text) => {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const decode = (text) => {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(raw, (c) => c.charCodeAt(0)));
};

const saved = (name, blob) => {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};
