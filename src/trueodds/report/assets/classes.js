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

function drawClasses() {
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
