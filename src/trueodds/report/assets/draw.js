/* Drawing: elements, axes, legends, tables, tooltips and plots with a cursor. Text is only ever set as text. */
import { drawnMethods, report } from "./data.js";
import { powerText } from "./words.js";

export const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

export function html(name, text = "", parent = null, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const logit = (p) => Math.log(p / (1 - p));
export const expit = (z) => 1 / (1 + Math.exp(-z));

/* The least of these multiples of a power of ten that is not below `least`. */
export function roundUp(least, multiples = [1, 2, 5, 10]) {
  const power = 10 ** Math.floor(Math.log10(least));
  return multiples.map((k) => k * power).find((value) => value >= least * 0.999);
}

/* Round numbers that part [low, high] into about `count` steps. */
export function niceTicks(low, high, count = 5) {
  const step = roundUp((high - low) / count);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) ticks.push(k * step);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map((value) => ({ value, text: value.toFixed(places) }));
}

const LOG_ODDS_TICKS = [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const FINE_TICKS = [0.002, 0.005, 0.02, 0.05, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.95, 0.98, 0.995, 0.998];

export function logOddsTicks(low, high) {
  const within = (list) => list.filter((p) => logit(p) >= low - 1e-9 && logit(p) <= high + 1e-9);
  const coarse = within(LOG_ODDS_TICKS);
  const chosen = coarse.length > 3 ? coarse : [...coarse, ...within(FINE_TICKS)].sort((a, b) => a - b);
  if (chosen.length < 2) {
    return niceTicks(expit(low), expit(high), 4).filter((t) => t.value > 0 && t.value < 1)
      .map((t) => ({ value: logit(t.value), text: t.text }));
  }
  return chosen.map((p) => ({ value: logit(p), text: powerText(p) }));
}

export function linearScale(low, high, from, to) {
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  scale.invert = (place) => low + ((place - from) / (to - from)) * (high - low);
  return scale;
}

/* Rows of samples with what they stand for, from (left, top) to the right; returns where they end. */
export function drawLegend(root, left, top, right, keys) {
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

/* The name of an axis that runs upwards. */
export function upwardTitle(root, text, left, middle) {
  svg("text", { x: 0, y: 0, transform: `translate(${left} ${middle}) rotate(-90)`, "text-anchor": "middle" }, root).textContent = text;
}

export function fillTable(place, caption, heads, rows) {
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

const announcer = document.getElementById("announce");

/* One tooltip for each picture, reached by pointer, touch and keyboard alike. */
class Tooltip {
  constructor(place) {
    this.place = place;
    this.box = html("div", "", place, { class: "tooltip", role: "tooltip" });
    this.box.hidden = true;
  }

  show(x, y, lines, aloud = false) {
    this.box.replaceChildren();
    lines.forEach((line) => html("div", line, this.box));
    this.box.hidden = false;
    const width = this.place.clientWidth;
    const left = x + 14 + this.box.offsetWidth > width ? x - 14 - this.box.offsetWidth : x + 14;
    this.box.style.left = `${clamp(left, 0, Math.max(0, width - this.box.offsetWidth))}px`;
    this.box.style.top = `${Math.max(0, y - this.box.offsetHeight - 8)}px`;
    if (aloud) announcer.textContent = lines.join(". ");
  }

  hide() {
    this.box.hidden = true;
  }
}

/* A plot that pointer, touch and keys read place by place.

   A subclass shows a place (select) or none (leave), finds it below the pointer (hover), and tells
   the keys how many there are (count) and where they begin (start). It sets this.x when it draws. */
export class CursorPlot {
  constructor(place) {
    this.place = place;
    this.root = svg("svg", { tabindex: 0, role: "img" }, place);
    this.tooltip = new Tooltip(place);
    this.at = null;
    this.byKeys = false;
    const point = (event) => { this.byKeys = false; this.hover(event); };
    this.root.addEventListener("pointermove", point);
    this.root.addEventListener("pointerdown", point);
    // A pointer that passes by does not end reading by keys.
    this.root.addEventListener("pointerleave", () => { if (!this.byKeys) this.leave(); });
    this.root.addEventListener("blur", () => this.leave());
    this.root.addEventListener("focus", () => {
      if (!this.root.matches(":focus-visible")) return;
      this.byKeys = true;
      this.select(this.start(), true);
    });
    this.root.addEventListener("keydown", (event) => {
      if (!this.key(event)) return;
      this.byKeys = true;
      event.preventDefault();
    });
  }

  start() { return 0; }

  /* Which way an arrow key goes. */
  step(event) {
    return { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  }

  /* Answers a key; returns whether it did. */
  key(event) {
    const step = this.step(event);
    if (step && this.count()) this.select(clamp((this.at ?? this.start()) + step, 0, this.count() - 1), true);
    else if (event.key === "Escape") this.leave();
    else return false;
    return true;
  }

  names() {
    return [...new Set([report.baseline, ...drawnMethods()])];
  }

  /* Empty, and as wide as its place; returns the width. */
  clear(height) {
    const width = this.place.clientWidth || 320;
    this.root.replaceChildren();
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("width", width);
    this.root.setAttribute("height", height);
    return width;
  }

  /* What the lines mean, above the picture; returns where the picture begins. */
  drawKeys(keys, left, right) {
    return drawLegend(this.root, left, 12, right, keys) + 4;
  }

  /* Where the pointer is, in the units of the picture. */
  placeOf(event) {
    const box = this.root.getBoundingClientRect();
    const ratio = this.root.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  }

  /* The value on the x axis below the pointer. */
  valueAt(event) {
    return this.x.invert(this.placeOf(event)[0]);
  }
}
