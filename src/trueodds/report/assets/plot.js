/* Small drawing tools: elements, axes, markers, numbers. Text is only ever set as text. */
const report = JSON.parse(document.getElementById("report-data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

function html(name, text = "", parent = null, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const logit = (p) => Math.log(p / (1 - p));
const expit = (z) => 1 / (1 + Math.exp(-z));

/* A probability in as many digits as it needs: 0.42, 0.0013, 0.9987. */
function probabilityText(p) {
  if (p === 0 || p === 1) return String(p);
  const distance = Math.min(p, 1 - p);
  const places = clamp(Math.ceil(-Math.log10(distance)) + 1, 3, 8);
  return p.toFixed(places);
}

function countText(value) {
  return Math.round(value).toLocaleString("en-US");
}

function signed(text) {
  return text.replace("-", "\u2212");
}

/* Round numbers that part [low, high] into about `count` steps. */
function niceTicks(low, high, count = 5) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) ticks.push(k * step);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map((value) => ({ value, text: value.toFixed(places) }));
}

/* 0.001 as it is, smaller ones as powers; the same from the other end. */
function powerText(p) {
  const power = (q) => `10\u207b${"\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076"[Math.round(-Math.log10(q))]}`;
  if (p < 0.000999) return power(p);
  return p > 0.9991 ? `1\u2212${power(1 - p)}` : String(p);
}

const LOG_ODDS_TICKS = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const FINE_TICKS = [0.002, 0.005, 0.02, 0.05, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.95, 0.98, 0.995, 0.998];

function logOddsTicks(low, high) {
  const within = (list) => list.filter((p) => logit(p) >= low - 1e-9 && logit(p) <= high + 1e-9);
  const coarse = within(LOG_ODDS_TICKS);
  const chosen = coarse.length > 3 ? coarse : [...coarse, ...within(FINE_TICKS)].sort((a, b) => a - b);
  if (chosen.length < 2) {
    return niceTicks(expit(low), expit(high), 4).filter((t) => t.value > 0 && t.value < 1)
      .map((t) => ({ value: logit(t.value), text: t.text }));
  }
  return chosen.map((p) => ({ value: logit(p), text: powerText(p) }));
}

function linearScale(low, high, from, to) {
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  scale.invert = (place) => low + ((place - from) / (to - from)) * (high - low);
  return scale;
}

/* Shapes tell methods apart without colour. */
const SHAPES = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `M${-r * 0.9} ${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`,
  (r) => `M0 ${-r * 1.2}L${r * 1.1} ${r * 0.8}H${-r * 1.1}z`,
  (r) => `M0 ${-r * 1.25}L${r * 1.25} 0 0 ${r * 1.25} ${-r * 1.25} 0z`,
  (r) => `M0 ${r * 1.2}L${r * 1.1} ${-r * 0.8}H${-r * 1.1}z`,
];

/* Every method has one look in all pictures: before and the shown method come first. */
const methodNames = report.methods.map((row) => row.method);
const looks = new Map();
[report.baseline, report.shown_method, ...methodNames].forEach((name) => {
  if (looks.has(name)) return;
  const index = looks.size;
  looks.set(name, { color: `m${index % 8}`, shape: SHAPES[index % SHAPES.length], dash: index >= 5 ? " d1" : "" });
});
const labelOf = (name) => report.labels[name] ?? name;

/* The methods that are drawn, shared by all pictures. */
const drawn = new Set([report.shown_method]);
const listeners = [];
function onChange(listener) {
  listeners.push(listener);
}
function changed() {
  listeners.forEach((listener) => listener());
}
function drawnMethods() {
  return methodNames.filter((name) => drawn.has(name));
}

/* Rows of samples with what they stand for, from (left, top) to the right; returns where they end. */
function drawLegend(root, left, top, right, keys) {
  const group = svg("g", { class: "legend" }, root);
  let [x, y] = [left, top];
  keys.forEach(({ text, look, shape }) => {
    const shown = text.length > 34 ? `${text.slice(0, 33)}\u2026` : text;
    const width = 34 + 6.6 * shown.length;
    if (x > left && x + width > right) [x, y] = [left, y + 18];
    svg("line", { class: `key ${look}`, x1: x, x2: x + 24, y1: y, y2: y }, group);
    if (shape) svg("path", { class: `key-point ${look}`, d: shape(3.6), transform: `translate(${x + 12} ${y})` }, group);
    svg("text", { x: x + 30, y: y + 4 }, group).textContent = shown;
    x += width + 10;
  });
  return y + 12;
}

function methodKey(name) {
  const look = looks.get(name);
  return { text: labelOf(name), look: `${look.color}${look.dash}`, shape: look.shape };
}

/* The name of an axis that runs upwards. */
function upwardTitle(root, text, left, middle) {
  svg("text", { x: 0, y: 0, transform: `translate(${left} ${middle}) rotate(-90)`, "text-anchor": "middle" }, root).textContent = text;
}

function fillTable(place, caption, heads, rows) {
  const table = html("table");
  html("caption", caption, table, { class: "sr" });
  const head = html("tr", "", html("thead", "", table));
  heads.forEach((text) => html("th", text, head, { scope: "col" }));
  const body = html("tbody", "", table);
  rows.forEach((cells) => {
    const row = html("tr", "", body);
    cells.forEach((text, i) => html(i ? "td" : "th", text, row, i ? {} : { scope: "row" }));
  });
  place.replaceChildren(table);
}
