/* Which part of which axis the reliability diagrams show. */
const view = { diagram: 0, axis: "linear", axisChosen: false, range: [0, 1], moved: false, smooth: true };
const LOG_ODDS_LIMIT = 12;
const CROWDED = 2 / 3;

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

function roundUp(p) {
  const power = 10 ** Math.floor(Math.log10(p));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((k) => k * power).find((end) => end >= p * 0.999);
}

/* The same without an empty half: probabilities that stay below 0.5, or above it, fill the picture. */
function fittedRange(diagram = current(), axis = view.axis) {
  if (axis !== "linear") return wholeRange(diagram, axis);
  const points = decidingPoints(diagram);
  const [low, high] = [Math.min(...points), Math.max(...points)];
  if (high <= 0.5) return [0, Math.max(roundUp(1.03 * high + 1e-9), 1e-6)];
  if (low >= 0.5) return [1 - Math.max(roundUp(1.03 * (1 - low) + 1e-9), 1e-6), 1];
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

function setDiagram(index) {
  view.diagram = index;
  setAxis(view.axisChosen ? view.axis : suitableAxis(current()));
}

function setSmooth(smooth) {
  view.smooth = smooth;
  document.getElementById("curve-smooth").setAttribute("aria-pressed", smooth);
  document.getElementById("curve-bins").setAttribute("aria-pressed", !smooth);
  drawReliability();
}
