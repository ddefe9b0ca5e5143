/* Reliability diagrams before and after, each above the histogram of its probabilities; small ones by class. */
import { drawnMethods, labelOf, looks, methodKey, onChange, report } from "./data.js";
import { clamp, CursorPlot, drawLegend, expit, fillTable, html, linearScale, logit, logOddsTicks, niceTicks, roundUp, svg, upwardTitle } from "./draw.js";
import { countText, probabilityText } from "./words.js";

/* Which part of which axis is shown. */
const view = { diagram: 0, axis: "linear", axisChosen: false, range: [0, 1], moved: false, smooth: true };
const LOG_ODDS_LIMIT = 12;
const CROWDED = 2 / 3;
const AXIS_ENDS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

const current = () => report.diagrams[view.diagram];

/* The points that decide where an axis ends: those before, and those of the method that is shown. */
function decidingPoints(diagram) {
  const curves = [diagram.before, diagram.methods[report.shown_method]];
  return curves.flatMap((curve) => [curve, curve.smooth ?? curve])
    .flatMap((line) => [...line.predicted, ...line.observed]);
}

/* Everything there is: probabilities end at 0 and 1, log-odds as far out as the points. */
function wholeRange(diagram = current(), axis = view.axis) {
  if (axis === "linear") return [0, 1];
  const inside = decidingPoints(diagram).filter((p) => p > 0 && p < 1).map(logit);
  if (!inside.length) return [-2.2, 2.2];
  const [low, high] = [Math.min(...inside) - 0.3, Math.max(...inside) + 0.3];
  const missing = Math.max(0, 2 - (high - low)) / 2;
  return [Math.max(low - missing, -LOG_ODDS_LIMIT), Math.min(high + missing, LOG_ODDS_LIMIT)];
}

/* The same without an empty half: probabilities that stay below 0.5, or above it, fill the picture. */
function fittedRange(diagram = current(), axis = view.axis) {
  if (axis !== "linear") return wholeRange(diagram, axis);
  const points = decidingPoints(diagram);
  const [low, high] = [Math.min(...points), Math.max(...points)];
  if (high <= 0.5) return [0, Math.max(roundUp(1.03 * high + 1e-9, AXIS_ENDS), 1e-6)];
  if (low >= 0.5) return [1 - Math.max(roundUp(1.03 * (1 - low) + 1e-9, AXIS_ENDS), 1e-6), 1];
  return [0, 1];
}

/* Log-odds where most rows would be crowded into one tenth of a linear axis. */
function suitableAxis(diagram) {
  const [low, high] = fittedRange(diagram, "linear");
  const tenth = (high - low) / 10;
  const { predicted, weight } = diagram.before;
  const mass = (inside) => weight.reduce((sum, w, i) => sum + (inside(predicted[i]) ? w : 0), 0);
  const most = Math.max(mass((p) => p < low + tenth), mass((p) => p > high - tenth));
  return most > CROWDED * mass(() => true) ? "log_odds" : "linear";
}

/* Where a probability stands on an axis; 0 and 1 have no log-odds and stand at its ends. */
function placeOn(p, axis, whole) {
  if (axis === "linear") return p;
  return p <= 0 ? whole[0] : p >= 1 ? whole[1] : clamp(logit(p), ...whole);
}
const fromAxis = (value) => (view.axis === "linear" ? clamp(value, 0, 1) : expit(value));

/* Keeps a range within the whole one, without changing its width if that can be helped. */
function setRange(low, high, moved = true) {
  const [least, most] = wholeRange();
  const width = Math.min(Math.max(high - low, 1e-6), most - least);
  const from = clamp(low, least, most - width);
  view.range = [from, from + width];
  view.moved = moved;
  drawReliability();
}

/* Zooming in keeps the low end where it is: that is where rare events are. */
function zoom(factor) {
  const [low, high] = view.range;
  setRange(low, low + (high - low) * factor);
}

function setAxis(axis) {
  view.axis = axis;
  document.getElementById("axis-linear").setAttribute("aria-pressed", axis === "linear");
  document.getElementById("axis-log").setAttribute("aria-pressed", axis === "log_odds");
  setRange(...fittedRange(), false);
}

/* The reader's choice stays when another diagram is looked at; so does a part that was zoomed to. */
function chooseAxis(axis) {
  const [low, high] = view.range.map(fromAxis);
  const keep = view.moved;
  view.axisChosen = true;
  setAxis(axis);
  if (keep) setRange(...[low, high].map((p) => placeOn(p, axis, wholeRange())));
}

export function setDiagram(index) {
  view.diagram = index;
  setAxis(view.axisChosen ? view.axis : suitableAxis(current()));
}

function setSmooth(smooth) {
  view.smooth = smooth;
  document.getElementById("curve-smooth").setAttribute("aria-pressed", smooth);
  document.getElementById("curve-bins").setAttribute("aria-pressed", !smooth);
  drawReliability();
}

const HISTOGRAM_HEIGHT = 84;
const MARGIN = { left: 60, right: 12, top: 10, bottom: 40 };
const HISTOGRAM_GAP = 44;
const MOST_BARS = 60;

/* Bars in pairs, if more than MOST_BARS of them would be seen of this share of the axis. */
function merged({ events, others }, share) {
  if (share * events.length <= MOST_BARS) return { events, others };
  const pairs = (values) => values.filter((_, i) => i % 2 === 0).map((v, i) => v + (values[2 * i + 1] ?? 0));
  return merged({ events: pairs(events), others: pairs(others) }, share);
}

class ReliabilityPlot extends CursorPlot {
  constructor(place, side) {
    super(place);
    this.side = side;
    this.points = [];
    this.drag = null;
    this.root.addEventListener("pointerup", (event) => this.drop(event));
    this.root.addEventListener("pointercancel", () => { this.drag = null; this.draw(); });
    this.root.addEventListener("dblclick", () => setRange(...wholeRange(), false));
  }

  count() { return this.points.length; }

  curves() {
    if (this.side === "before") return [[report.baseline, current().before]];
    return drawnMethods().map((name) => [name, current().methods[name]]);
  }

  draw() {
    const side = (this.place.clientWidth || 320) - MARGIN.left - MARGIN.right;
    const bottom = MARGIN.top + side;
    const height = bottom + HISTOGRAM_GAP + HISTOGRAM_HEIGHT + MARGIN.bottom;
    const root = this.root;
    this.clear(height);
    root.setAttribute("aria-label", this.description());
    const [low, high] = view.range;
    this.whole = wholeRange();
    this.x = linearScale(low, high, MARGIN.left, MARGIN.left + side);
    this.y = linearScale(low, high, bottom, MARGIN.top);
    this.bottom = bottom;
    this.histogramTop = bottom + HISTOGRAM_GAP;
    const clip = `clip-${this.side}`;
    const area = { x: MARGIN.left, y: MARGIN.top, width: side, height: side };
    svg("rect", area, svg("clipPath", { id: clip }, svg("defs", {}, root)));
    this.drawAxes(root, side, low, high);
    const inside = svg("g", { "clip-path": `url(#${clip})` }, root);
    svg("line", { class: "diagonal", x1: this.x(low), y1: this.y(low), x2: this.x(high), y2: this.y(high) }, inside);
    const curves = this.curves();
    curves.forEach(([name, curve]) => this.drawBand(inside, name, curve));
    this.points = [];
    const above = svg("g", {}, root);
    curves.forEach(([name, curve]) => this.drawCurve(inside, above, name, curve));
    drawLegend(root, MARGIN.left + 8, MARGIN.top + 8, MARGIN.left + 0.62 * side, curves.map(([name]) => methodKey(name)));
    this.drawHistogram(root, curves, side);
    if (this.at >= this.points.length) this.at = null;
    this.tooltip.hide();
  }

  description() {
    const shown = this.curves().map(([name]) => labelOf(name)).join(", ") || "no method";
    const outside = this.curves().map(([name, curve]) => {
      const beyond = curve.observed.filter((y, i) => y < curve.band_low[i] || y > curve.band_high[i]).length;
      return `${labelOf(name)}: ${beyond} of ${curve.observed.length} points outside the band`;
    });
    return `Reliability diagram ${this.side} calibration, ${shown}. ${outside.join("; ")}. Use the arrow keys to read the points.`;
  }

  drawAxes(root, side, low, high) {
    const ticks = view.axis === "linear" ? niceTicks(low, high) : logOddsTicks(low, high);
    const left = MARGIN.left;
    let written = -Infinity;
    ticks.forEach(({ value, text }) => {
      const x = this.x(value);
      const y = this.y(value);
      const half = 3.4 * text.length;
      const fits = x - half > written + 6;
      if (fits) written = x + half;
      svg("line", { class: "grid", x1: x, x2: x, y1: MARGIN.top, y2: this.bottom }, root);
      svg("line", { class: "grid", x1: left, x2: left + side, y1: y, y2: y }, root);
      if (fits) svg("text", { x, y: this.bottom + 16, "text-anchor": "middle" }, root).textContent = text;
      svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, root).textContent = text;
    });
    svg("rect", { class: "frame", x: left, y: MARGIN.top, width: side, height: side }, root);
    svg("text", { x: left + side / 2, y: this.bottom + 33, "text-anchor": "middle" }, root).textContent = "predicted probability";
    upwardTitle(root, "observed frequency", 11, MARGIN.top + side / 2);
  }

  placed(p, q) {
    return [this.x(placeOn(p, view.axis, this.whole)), this.y(placeOn(q, view.axis, this.whole))];
  }

  /* The band of the smooth curve lies around it; that of bins is where chance would put them. */
  drawBand(parent, name, curve) {
    const line = view.smooth && curve.smooth ? curve.smooth : curve;
    const look = `band ${looks.get(name).color}`;
    const edge = (values) => line.predicted.map((p, i) => this.placed(p, values[i]).join(","));
    if (line.predicted.length > 1) {
      const outline = [...edge(line.band_low), ...edge(line.band_high).reverse()].join(" ");
      svg("polygon", { class: look, points: outline }, parent);
    } else {
      const [x, top] = this.placed(line.predicted[0], line.band_high[0]);
      const depth = this.placed(line.predicted[0], line.band_low[0])[1] - top;
      svg("rect", { class: look, x: x - 6, y: top, width: 12, height: depth }, parent);
    }
  }

  drawCurve(parent, above, name, curve) {
    const look = looks.get(name);
    const line = view.smooth && curve.smooth ? curve.smooth : curve;
    // On the axis of log-odds, frequencies of 0 and 1 lie at infinity: a marker at the edge, no line.
    const finite = line.observed.map((_, i) => i)
      .filter((i) => view.axis === "linear" || (line.observed[i] > 0 && line.observed[i] < 1));
    const path = finite.map((i) => this.placed(line.predicted[i], line.observed[i]).join(","));
    svg("polyline", { class: `curve ${look.color}${look.dash}`, points: path.join(" ") }, parent);
    const [left, right] = view.range.map(this.x);
    curve.predicted.forEach((p, i) => {
      const [x, y] = this.placed(p, curve.observed[i]);
      // Markers at the ends are drawn whole; those of another part of the range, not at all.
      if (x < left - 1 || x > right + 1 || y < MARGIN.top - 1 || y > this.bottom + 1) return;
      const outside = curve.observed[i] < curve.band_low[i] || curve.observed[i] > curve.band_high[i];
      const element = svg("path", {
        class: `point ${look.color}${outside ? " outside" : ""}`, d: look.shape(4.2), transform: `translate(${x} ${y})`,
      }, above);
      this.points.push({ name, curve, i, x, y, element, outside });
    });
  }

  drawHistogram(root, curves, side) {
    if (!curves.length) return;
    const [name, curve] = curves[curves.length - 1];
    const limit = view.axis === "linear" ? [0, 1] : [-curve.histogram.log_odds_limit, curve.histogram.log_odds_limit];
    const [low, high] = view.range;
    const { events, others } = merged(curve.histogram[view.axis], (high - low) / (limit[1] - limit[0]));
    const step = (limit[1] - limit[0]) / events.length;
    const seen = events.map((_, i) => i).filter((i) => limit[0] + (i + 1) * step > low && limit[0] + i * step < high);
    const top = Math.max(1e-9, ...seen.map((i) => Math.max(events[i], others[i])));
    const half = HISTOGRAM_HEIGHT / 2;
    const middle = this.histogramTop + half;
    this.bars = [];
    seen.forEach((i) => {
      const x1 = clamp(this.x(limit[0] + i * step), MARGIN.left, MARGIN.left + side);
      const x2 = clamp(this.x(limit[0] + (i + 1) * step), MARGIN.left, MARGIN.left + side);
      const bar = { x: x1 + 0.5, width: Math.max(0.5, x2 - x1 - 1) };
      const up = (events[i] / top) * half;
      const down = (others[i] / top) * half;
      svg("rect", { class: `bar ${looks.get(name).color}`, y: middle - up, height: up, ...bar }, root);
      svg("rect", { class: "bar others", y: middle, height: down, ...bar }, root);
      const ends = [i, i + 1].map((k) => probabilityText(Number(fromAxis(limit[0] + k * step).toPrecision(3))));
      this.bars.push({ x1, x2, name, lines: [
        `${labelOf(name)}: ${ends[0]} to ${ends[1]}`,
        `${(100 * events[i]).toFixed(1)}% of ${words.events}`, `${(100 * others[i]).toFixed(1)}% of ${words.others}`,
      ] });
    });
    svg("line", { class: "frame", x1: MARGIN.left, x2: MARGIN.left + side, y1: middle, y2: middle }, root);
    svg("text", { x: MARGIN.left - 6, y: middle - 8, "text-anchor": "end" }, root).textContent = words.up;
    svg("text", { x: MARGIN.left - 6, y: middle + 17, "text-anchor": "end" }, root).textContent = words.down;
    const foot = curves.length > 1 ? `distribution: ${labelOf(name)}` : "distribution of probabilities";
    svg("text", { x: MARGIN.left + side / 2, y: this.histogramTop + HISTOGRAM_HEIGHT + 20, "text-anchor": "middle" }, root).textContent = foot;
  }

  select(index, aloud = false) {
    this.points.forEach((point) => point.element.classList.remove("current"));
    this.at = index;
    const point = this.points[index];
    if (!point) { this.tooltip.hide(); return; }
    point.element.classList.add("current");
    const { curve, i } = point;
    this.tooltip.show(point.x, point.y, [
      `${labelOf(point.name)}: predicted ${probabilityText(curve.predicted[i])}`,
      `observed: ${probabilityText(curve.observed[i])}`,
      `chance band: ${probabilityText(curve.band_low[i])} to ${probabilityText(curve.band_high[i])}${point.outside ? ", outside" : ""}`,
      `${countText(curve.weight[i])} ${report.data.weighted ? "of weight" : "rows"}`,
    ], aloud);
  }

  leave() {
    if (!this.drag) this.select(null);
  }

  /* The nearest point, or the bar of the histogram; a mouse that is held down marks a range. */
  hover(event) {
    const [x, y] = this.placeOf(event);
    if (event.type === "pointerdown" && event.pointerType === "mouse") {
      if (event.button !== 0) return;
      this.drag = { start: x, box: null };
      this.root.setPointerCapture(event.pointerId);
    } else if (this.drag) {
      this.drag.box ??= svg("rect", { class: "selection", y: MARGIN.top, height: this.bottom - MARGIN.top }, this.root);
      this.drag.box.setAttribute("x", Math.min(this.drag.start, x));
      this.drag.box.setAttribute("width", Math.abs(x - this.drag.start));
    } else if (y > this.histogramTop - 6 && this.bars) {
      const bar = this.bars.find((b) => x >= b.x1 && x < b.x2);
      this.select(null);
      if (bar) this.tooltip.show(x, this.histogramTop, bar.lines);
    } else this.select(this.nearest(x, y));
  }

  nearest(x, y) {
    let [best, least] = [null, 28 ** 2];
    this.points.forEach((point, i) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  drop(event) {
    if (!this.drag) return;
    const ends = [this.drag.start, this.placeOf(event)[0]].sort((a, b) => a - b);
    this.drag = null;
    if (ends[1] - ends[0] > 12) setRange(this.x.invert(ends[0]), this.x.invert(ends[1]));
    else this.draw();
  }

  key(event) {
    const step = this.step(event);
    if (step && event.shiftKey) {
      const shift = (step * (view.range[1] - view.range[0])) / 4;
      setRange(view.range[0] + shift, view.range[1] + shift);
    } else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") setRange(...wholeRange(), false);
    else return super.key(event);
    return true;
  }
}

const several = !report.data.binary;
const words = { events: "positives", others: "negatives", up: "pos", down: "neg" };
function chooseWords() {
  const { kind } = current();
  if (kind === "top") Object.assign(words, { events: "correct predictions", others: "wrong predictions", up: "correct", down: "wrong" });
  else if (several) Object.assign(words, { events: "this class", others: "other classes", up: "class", down: "rest" });
}

export const plots = [
  new ReliabilityPlot(document.getElementById("plot-before"), "before"),
  new ReliabilityPlot(document.getElementById("plot-after"), "after"),
];

function drawReliability() {
  chooseWords();
  plots.forEach((plot) => plot.draw());
  document.querySelector("[data-rows=before]").textContent = countText(current().before.rows);
  document.querySelector("[data-rows=after]").textContent = countText(Object.values(current().methods)[0].rows);
  const curves = [["before", current().before], ...drawnMethods().map((name) => [labelOf(name), current().methods[name]])];
  const rows = curves.flatMap(([name, curve]) => curve.predicted.map((p, i) => [
    name, probabilityText(p), probabilityText(curve.observed[i]),
    `${probabilityText(curve.band_low[i])} to ${probabilityText(curve.band_high[i])}`, countText(curve.weight[i]),
  ]));
  fillTable(document.getElementById("diagram-table"), "Points of the reliability diagrams",
    ["Method", "Predicted", "Observed", "Chance band", report.data.weighted ? "Weight" : "Rows"], rows);
}
onChange(drawReliability);

document.getElementById("axis-linear").addEventListener("click", () => chooseAxis("linear"));
document.getElementById("axis-log").addEventListener("click", () => chooseAxis("log_odds"));
document.getElementById("curve-smooth").addEventListener("click", () => setSmooth(true));
document.getElementById("curve-bins").addEventListener("click", () => setSmooth(false));
document.getElementById("zoom-in").addEventListener("click", () => zoom(0.5));
document.getElementById("zoom-out").addEventListener("click", () => zoom(2));
document.getElementById("zoom-fit").addEventListener("click", () => setRange(...fittedRange(), false));
document.getElementById("zoom-reset").addEventListener("click", () => setRange(...wholeRange(), false));
document.getElementById("diagram")?.addEventListener("change", (event) => setDiagram(Number(event.target.value)));

/* All classes side by side, before and after; a click shows one of them large. */
const classPlace = document.getElementById("classes");
const CLASS_MARGIN = { left: 34, right: 14, top: 6, bottom: 20 };

function drawClass(root, diagram, size) {
  const axis = suitableAxis(diagram);
  const whole = wholeRange(diagram, axis);
  const [low, high] = fittedRange(diagram, axis);
  const x = linearScale(low, high, CLASS_MARGIN.left, size - CLASS_MARGIN.right);
  const y = linearScale(low, high, size - CLASS_MARGIN.bottom, CLASS_MARGIN.top);
  const place = (p, q) => [x(clamp(placeOn(p, axis, whole), low, high)), y(clamp(placeOn(q, axis, whole), low, high))].join(",");
  const ticks = axis === "linear" ? niceTicks(low, high, 2) : logOddsTicks(low, high);
  const step = Math.ceil(ticks.length / 3);
  ticks.filter((_, i) => i % step === 0).forEach(({ value, text }) => {
    svg("line", { class: "grid", x1: x(value), x2: x(value), y1: CLASS_MARGIN.top, y2: size - CLASS_MARGIN.bottom }, root);
    svg("line", { class: "grid", x1: CLASS_MARGIN.left, x2: size - CLASS_MARGIN.right, y1: y(value), y2: y(value) }, root);
    svg("text", { x: x(value), y: size - 6, "text-anchor": "middle" }, root).textContent = text;
    svg("text", { x: CLASS_MARGIN.left - 5, y: y(value) + 4, "text-anchor": "end" }, root).textContent = text;
  });
  svg("line", { class: "diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }, root);
  const curves = [[report.baseline, diagram.before], [report.shown_method, diagram.methods[report.shown_method]]];
  curves.forEach(([name, curve]) => {
    const line = curve.smooth ?? curve;
    const { color } = looks.get(name);
    const edge = (values) => line.predicted.map((p, i) => place(p, values[i]));
    if (curve.smooth) svg("polygon", { class: `band ${color}`, points: [...edge(line.band_low), ...edge(line.band_high).reverse()].join(" ") }, root);
    svg("polyline", { class: `curve ${color}`, points: edge(line.observed).join(" ") }, root);
  });
}

export function drawClasses() {
  if (!classPlace) return;
  classPlace.replaceChildren();
  report.diagrams.forEach((diagram, index) => {
    if (diagram.kind !== "class") return;
    const button = html("button", "", classPlace, { type: "button", class: "class plot", "aria-label": `Show class ${diagram.event} above` });
    html("span", diagram.event, button);
    const size = 190;
    const root = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, "aria-hidden": "true" }, button);
    drawClass(root, diagram, size);
    button.addEventListener("click", () => {
      document.getElementById("diagram").value = String(index);
      setDiagram(index);
      document.getElementById("reliability").scrollIntoView();
    });
  });
}
