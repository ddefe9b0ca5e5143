/* Reliability diagrams before and after, each above the spread of its probabilities. */
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

class ReliabilityPlot {
  constructor(place, side) {
    this.place = place;
    this.side = side;
    this.at = -1;
    this.points = [];
    this.root = svg("svg", { tabindex: 0, role: "img" }, place);
    this.tooltip = new Tooltip(place);
    this.listen();
  }

  curves() {
    if (this.side === "before") return [[report.baseline, current().before]];
    return drawnMethods().map((name) => [name, current().methods[name]]);
  }

  draw() {
    const width = this.place.clientWidth || 320;
    const side = width - MARGIN.left - MARGIN.right;
    const bottom = MARGIN.top + side;
    const height = bottom + HISTOGRAM_GAP + HISTOGRAM_HEIGHT + MARGIN.bottom;
    const root = this.root;
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.setAttribute("width", width);
    root.setAttribute("height", height);
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
    if (this.at >= this.points.length) this.at = -1;
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
    svg("text", { x: left + side / 2, y: this.bottom + 33, "text-anchor": "middle" }, root).textContent = "probability";
    upwardTitle(root, "came true", 11, MARGIN.top + side / 2);
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
    const foot = curves.length > 1 ? `spread of ${labelOf(name)}` : "spread of probabilities";
    svg("text", { x: MARGIN.left + side / 2, y: this.histogramTop + HISTOGRAM_HEIGHT + 20, "text-anchor": "middle" }, root).textContent = foot;
  }

  select(index, aloud = false) {
    this.byKeyboard = aloud;
    this.points.forEach((point) => point.element.classList.remove("current"));
    this.at = index;
    const point = this.points[index];
    if (!point) { this.tooltip.hide(); return; }
    point.element.classList.add("current");
    const { curve, i } = point;
    this.tooltip.show(point.x, point.y, [
      `${labelOf(point.name)}: says ${probabilityText(curve.predicted[i])}`,
      `came true: ${probabilityText(curve.observed[i])}`,
      `chance band: ${probabilityText(curve.band_low[i])} to ${probabilityText(curve.band_high[i])}${point.outside ? ", outside" : ""}`,
      `${countText(curve.weight[i])} ${report.data.weighted ? "of weight" : "rows"}`,
    ], aloud);
  }

  placeOf(event) {
    const box = this.root.getBoundingClientRect();
    const ratio = this.root.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
  }

  hover(event) {
    const [x, y] = this.placeOf(event);
    if (y > this.histogramTop - 6 && this.bars) {
      const bar = this.bars.find((b) => x >= b.x1 && x < b.x2);
      this.select(-1);
      if (bar) this.tooltip.show(x, this.histogramTop, bar.lines);
      return;
    }
    let best = -1;
    let nearest = 28 ** 2;
    this.points.forEach((point, i) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < nearest) { nearest = distance; best = i; }
    });
    this.select(best);
  }

  listen() {
    const root = this.root;
    let start = null;
    let box = null;
    root.addEventListener("pointermove", (event) => {
      if (start === null) { this.hover(event); return; }
      const x = this.placeOf(event)[0];
      box ??= svg("rect", { class: "selection", y: MARGIN.top, height: this.bottom - MARGIN.top }, root);
      box.setAttribute("x", Math.min(start, x));
      box.setAttribute("width", Math.abs(x - start));
    });
    root.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse") { this.hover(event); return; }
      if (event.button === 0) { start = this.placeOf(event)[0]; root.setPointerCapture(event.pointerId); }
    });
    root.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const ends = [start, this.placeOf(event)[0]].sort((a, b) => a - b);
      start = null;
      box = null;
      if (ends[1] - ends[0] > 12) setRange(this.x.invert(ends[0]), this.x.invert(ends[1]));
      else this.draw();
    });
    root.addEventListener("pointercancel", () => { start = null; box = null; this.draw(); });
    root.addEventListener("pointerleave", () => { if (start === null && !this.byKeyboard) this.select(-1); });
    root.addEventListener("dblclick", () => setRange(...wholeRange(), false));
    root.addEventListener("focus", () => { if (root.matches(":focus-visible")) this.select(0, true); });
    root.addEventListener("blur", () => this.select(-1));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step && event.shiftKey) {
      const shift = (step * (view.range[1] - view.range[0])) / 4;
      setRange(view.range[0] + shift, view.range[1] + shift);
    } else if (step && this.points.length) {
      this.select((Math.max(this.at, 0) + step + this.points.length) % this.points.length, true);
    } else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") setRange(...wholeRange(), false);
    else if (event.key === "Escape") this.select(-1);
    else return;
    event.preventDefault();
  }
}

const several = !report.data.binary;
const words = { events: "positives", others: "negatives", up: "pos", down: "neg" };
function chooseWords() {
  const { kind } = current();
  if (kind === "top") Object.assign(words, { events: "hits", others: "misses", up: "hit", down: "miss" });
  else if (several) Object.assign(words, { events: "this class", others: "other classes", up: "class", down: "rest" });
}

const plots = [
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
    ["Method", "Says", "Came true", "Chance band", report.data.weighted ? "Weight" : "Rows"], rows);
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
