/* What decisions cost as a function of the ratio of costs. */
const costs = report.costs;
const slider = document.getElementById("ratio");
const COST_HEIGHT = 300;
const COST_MARGIN = { left: 64, right: 20, bottom: 44 };

const costOf = (name, i) => costs.methods[name].cheap[i] + costs.ratios[i] * costs.methods[name].dear[i];
const relativeCost = (name, i) => costOf(name, i) / costs.default[i];

/* "5 times", and "a fifth of" as "0.2 times": short and never wrong. */
function ratioText(ratio) {
  const shown = ratio >= 100 ? Math.round(ratio).toLocaleString("en-US") : String(Number(ratio.toPrecision(2)));
  return ratio === 1 ? "as much as" : `${shown} times as much as`;
}
function costText(value) {
  const size = Math.abs(value);
  if (size < 0.005) return "0";
  return signed(size >= 100 ? countText(value) : value.toFixed(size >= 10 ? 1 : 2));
}

class CostPlot extends CursorPlot {
  start() { return Number(slider.value); }
  count() { return costs.ratios.length; }

  draw() {
    const right = this.clear(COST_HEIGHT) - COST_MARGIN.right;
    const bottom = COST_HEIGHT - COST_MARGIN.bottom;
    const root = this.root;
    const top = this.drawKeys([...this.names().map(methodKey), { text: "without a model", look: "reference" }], COST_MARGIN.left, right);
    const last = costs.ratios.length - 1;
    root.setAttribute("aria-label", `Cost as a share of the cost without a model, for ratios of costs from ${costs.ratios[0]} to ${costs.ratios[last]}: ${this.names().map(labelOf).join(", ")}. Use the arrow keys to read it.`);
    const highest = Math.max(1.05, ...this.names().flatMap((name) => costs.ratios.map((_, i) => relativeCost(name, i))));
    const most = Math.min(highest * 1.03, 2);
    this.x = linearScale(Math.log10(costs.ratios[0]), Math.log10(costs.ratios[last]), COST_MARGIN.left, right);
    this.y = linearScale(0, most, bottom, top);
    niceTicks(0, most, 4).forEach(({ value }) => {
      svg("line", { class: "grid", x1: COST_MARGIN.left, x2: right, y1: this.y(value), y2: this.y(value) }, root);
      svg("text", { x: COST_MARGIN.left - 6, y: this.y(value) + 4, "text-anchor": "end" }, root).textContent = `${Math.round(100 * value)}%`;
    });
    for (let power = -3; power <= 3; power += 1) {
      const x = this.x(power);
      if (x < COST_MARGIN.left - 1 || x > right + 1) continue;
      svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }, root);
      svg("text", { x, y: bottom + 16, "text-anchor": "middle" }, root).textContent = String(10 ** power);
    }
    svg("text", { x: (COST_MARGIN.left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, root).textContent =
      costs.kind === "act" ? "how many false alarms a miss is worth" : "how many questions a wrong answer is worth";
    upwardTitle(root, "cost, without a model = 100%", 12, (top + bottom) / 2);
    svg("clipPath", { id: "clip-costs" }, svg("defs", {}, root)).append(
      svg("rect", { x: COST_MARGIN.left, y: top, width: right - COST_MARGIN.left, height: bottom - top }));
    const inside = svg("g", { "clip-path": "url(#clip-costs)" }, root);
    svg("line", { class: "diagonal", x1: COST_MARGIN.left, x2: right, y1: this.y(1), y2: this.y(1) }, inside);
    this.names().forEach((name) => {
      const points = costs.ratios.map((ratio, i) => `${this.x(Math.log10(ratio))},${this.y(relativeCost(name, i))}`);
      svg("polyline", { class: `curve ${looks.get(name).color}${looks.get(name).dash}`, points: points.join(" ") }, inside);
    });
    this.top = top;
    this.cursor = svg("line", { class: "cursor", y1: top, y2: bottom }, root);
    this.markers = svg("g", {}, root);
    this.moveCursor(this.at ?? this.start());
  }

  moveCursor(i) {
    const x = this.x(Math.log10(costs.ratios[i]));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.markers.replaceChildren();
    this.names().forEach((name) => {
      const y = Math.max(this.top, this.y(relativeCost(name, i)));
      svg("path", { class: `point outside ${looks.get(name).color}`, d: looks.get(name).shape(4.2), transform: `translate(${x} ${y})` }, this.markers);
    });
  }

  select(i, aloud) {
    this.at = i;
    this.moveCursor(i);
    const lines = [`cost ratio ${Number(costs.ratios[i].toPrecision(2))}`,
      ...this.names().map((name) => `${labelOf(name)}: ${Math.round(100 * relativeCost(name, i))}%, ${costText(1000 * costOf(name, i))} per 1,000`)];
    this.tooltip.show(this.x(Math.log10(costs.ratios[i])), COST_HEIGHT / 2, lines, aloud);
  }

  hover(event) {
    const value = this.valueAt(event);
    let best = 0;
    costs.ratios.forEach((ratio, i) => {
      if (Math.abs(Math.log10(ratio) - value) < Math.abs(Math.log10(costs.ratios[best]) - value)) best = i;
    });
    this.select(best);
  }

  leave() {
    this.at = null;
    this.tooltip.hide();
    this.moveCursor(Number(slider.value));
  }
}

const costPlot = new CostPlot(document.getElementById("plot-costs"));

function showCosts() {
  const i = Number(slider.value);
  const ratio = costs.ratios[i];
  const shown = report.shown_method;
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  put("ratio-text", ratioText(Number(ratio.toPrecision(2))));
  put("cost-threshold", `p \u2265 ${probabilityText(Number(costs.thresholds[i].toPrecision(3)))}`);
  put("cost-before", costText(1000 * costOf(report.baseline, i)));
  put("cost-after", costText(1000 * costOf(shown, i)));
  const { saving_low: low, saving_high: high } = costs.methods[shown];
  const saving = 1000 * (costOf(report.baseline, i) - costOf(shown, i));
  put("cost-saving", `${costText(saving)} [${costText(1000 * low[i])}, ${costText(1000 * high[i])}]`);
  const what = costs.kind === "act" ? ["a miss", "a false alarm"] : ["a wrong answer", "asking"];
  slider.setAttribute("aria-valuetext", `${what[0]} costs ${ratioText(Number(ratio.toPrecision(2)))} ${what[1]}`);
}

function drawCosts() {
  costPlot.draw();
  showCosts();
  const step = Math.max(1, Math.round((costs.ratios.length - 1) / 12));
  const rows = costs.ratios.map((_, i) => i).filter((i) => i % step === 0).map((i) => [
    String(Number(costs.ratios[i].toPrecision(2))), probabilityText(costs.thresholds[i]),
    ...costPlot.names().map((name) => costText(1000 * costOf(name, i))),
  ]);
  fillTable(document.getElementById("cost-table"), "Cost per 1,000 rows by ratio of costs",
    ["Ratio", "Threshold", ...costPlot.names().map(labelOf)], rows);
}
onChange(drawCosts);
slider.addEventListener("input", () => { costPlot.at = null; costPlot.tooltip.hide(); costPlot.moveCursor(Number(slider.value)); showCosts(); });
