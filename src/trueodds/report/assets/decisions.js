/* Decisions: their costs by the ratio of costs, and net benefit by the threshold. */
import { labelOf, looks, methodKey, onChange, report } from "./data.js";
import { clamp, CursorPlot, fillTable, linearScale, niceTicks, svg, upwardTitle } from "./draw.js";
import { costText, countText, probabilityText, ratioText, signed } from "./words.js";

const costs = report.costs;
const slider = document.getElementById("ratio");
const COST_HEIGHT = 300;
const COST_MARGIN = { left: 64, right: 20, bottom: 44 };

const costOf = (name, i) => costs.methods[name].cheap[i] + costs.ratios[i] * costs.methods[name].dear[i];
const relativeCost = (name, i) => costOf(name, i) / costs.default[i];

/* What decisions cost as a function of the ratio of costs. */
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
      svg("text", { x, y: bottom + 16, "text-anchor": "middle" }, root).textContent = power < 3 ? String(10 ** power) : countText(10 ** power);
    }
    svg("text", { x: (COST_MARGIN.left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, root).textContent =
      costs.kind === "act" ? "cost of a false negative in false positives" : "cost of a wrong answer in deferrals";
    upwardTitle(root, "cost (without a model: 100%)", 12, (top + bottom) / 2);
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

export const costPlot = new CostPlot(document.getElementById("plot-costs"));

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
  const what = costs.kind === "act" ? ["a false negative", "a false positive"] : ["a wrong answer", "a deferral"];
  slider.setAttribute("aria-valuetext", `${what[0]} costs ${ratioText(Number(ratio.toPrecision(2)))} ${what[1]}`);
}

export function drawCosts() {
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

const validation = report.validation;
const DECISION_HEIGHT = 300;
const DECISION_MARGIN = { left: 64, right: 20, bottom: 44 };

/* The decision curve: net benefit as a function of the threshold. */
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
    svg("text", { x: (left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, root).textContent = "threshold: act at or above this probability";
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
    const lines = [`threshold ${validation.thresholds[i]}`,
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

export const decisionPlot = validation && new DecisionPlot(document.getElementById("plot-decisions"));
export function drawDecisions() {
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
