/* The decision curve: net benefit as a function of the threshold. */
const validation = report.validation;
const DECISION_HEIGHT = 300;
const DECISION_MARGIN = { left: 64, right: 20, bottom: 44 };

class DecisionPlot extends CursorPlot {
  start() { return 9; }
  count() { return validation.thresholds.length; }

  draw() {
    const { left } = DECISION_MARGIN;
    const right = this.clear(DECISION_HEIGHT) - DECISION_MARGIN.right;
    const bottom = DECISION_HEIGHT - DECISION_MARGIN.bottom;
    const root = this.root;
    const others = [{ text: "act always", look: "reference" }, { text: "act never", look: "never" }];
    const top = this.drawKeys([...this.names().map(methodKey), ...others], left, right);
    root.setAttribute("aria-label", `Net benefit for thresholds up to ${validation.thresholds[validation.thresholds.length - 1]}: ${this.names().map(labelOf).join(", ")}, act always, act never. Use the arrow keys to read it.`);
    const best = validation.prevalence;
    const last = validation.thresholds.length - 1;
    this.x = linearScale(0, validation.thresholds[last] + validation.thresholds[0], left, right);
    this.y = linearScale(-0.08 * best, 1.08 * best, bottom, top);
    niceTicks(0, best, 4).forEach(({ value, text }) => {
      svg("line", { class: "grid", x1: left, x2: right, y1: this.y(value), y2: this.y(value) }, root);
      svg("text", { x: left - 6, y: this.y(value) + 4, "text-anchor": "end" }, root).textContent = text;
    });
    niceTicks(0, validation.thresholds[last], 5).forEach(({ value, text }) => {
      svg("line", { class: "grid", x1: this.x(value), x2: this.x(value), y1: top, y2: bottom }, root);
      svg("text", { x: this.x(value), y: bottom + 16, "text-anchor": "middle" }, root).textContent = text;
    });
    svg("text", { x: (left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, root).textContent = "act from this probability on";
    upwardTitle(root, "net benefit per row", 12, (top + bottom) / 2);
    svg("clipPath", { id: "clip-decisions" }, svg("defs", {}, root)).append(
      svg("rect", { x: left, y: top, width: right - left, height: bottom - top }));
    const inside = svg("g", { "clip-path": "url(#clip-decisions)" }, root);
    const path = (values) => values.map((v, i) => `${this.x(validation.thresholds[i])},${this.y(v)}`);
    svg("line", { class: "never", x1: left, x2: right, y1: this.y(0), y2: this.y(0) }, inside);
    svg("polyline", { class: "diagonal", fill: "none", points: path(validation.treat_all).join(" ") }, inside);
    this.names().forEach((name) => {
      const { net_benefit: values, low, high } = validation.methods[name];
      svg("polygon", { class: `band ${looks.get(name).color}`, points: [...path(high), ...path(low).reverse()].join(" ") }, inside);
      svg("polyline", { class: `curve ${looks.get(name).color}${looks.get(name).dash}`, points: path(values).join(" ") }, inside);
    });
    this.cursor = svg("line", { class: "cursor", y1: top, y2: bottom }, root);
    this.cursor.style.display = "none";
  }

  select(i, aloud) {
    this.at = i;
    const x = this.x(validation.thresholds[i]);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.style.display = "";
    const shown = (value) => signed(value.toFixed(4));
    const lines = [`act from ${validation.thresholds[i]}`,
      ...this.names().map((name) => {
        const { net_benefit: values, low, high } = validation.methods[name];
        return `${labelOf(name)}: ${shown(values[i])} [${shown(low[i])}, ${shown(high[i])}]`;
      }),
      `act always: ${shown(validation.treat_all[i])}`];
    this.tooltip.show(x, DECISION_HEIGHT / 2, lines, aloud);
  }

  hover(event) {
    this.select(clamp(Math.round(this.valueAt(event) / validation.thresholds[0]) - 1, 0, this.count() - 1));
  }

  leave() {
    this.at = null;
    this.tooltip.hide();
    this.cursor.style.display = "none";
  }
}

const decisionPlot = validation && new DecisionPlot(document.getElementById("plot-decisions"));
function drawDecisions() {
  if (!decisionPlot) return;
  decisionPlot.draw();
  const names = decisionPlot.names();
  const rows = validation.thresholds.map((_, i) => i).filter((i) => (i + 1) % 10 === 0).map((i) => [
    String(validation.thresholds[i]),
    ...names.map((name) => signed(validation.methods[name].net_benefit[i].toFixed(4))),
    signed(validation.treat_all[i].toFixed(4)),
  ]);
  fillTable(document.getElementById("decision-table"), "Net benefit by threshold",
    ["Threshold", ...names.map(labelOf), "Act always"], rows);
}
onChange(drawDecisions);
