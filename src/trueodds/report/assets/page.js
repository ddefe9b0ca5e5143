/* Controls of the whole page: methods, theme, download, width. */
function fillChips() {
  document.querySelectorAll("[data-chips]").forEach((place) => {
    methodNames.forEach((name) => {
      const look = looks.get(name);
      const chip = html("label", "", place, { class: `chip ${look.color}` });
      const box = html("input", "", chip, { type: "checkbox", value: name });
      box.checked = drawn.has(name);
      const picture = svg("svg", { width: 22, height: 14, viewBox: "-11 -7 22 14", "aria-hidden": "true" }, chip);
      const swatch = svg("g", { class: "plot" }, picture);
      svg("line", { class: `curve ${look.color}${look.dash}`, x1: -11, x2: 11, y1: 0, y2: 0 }, swatch);
      svg("path", { class: `point outside ${look.color}`, d: look.shape(3.6) }, swatch);
      html("span", labelOf(name), chip);
      box.addEventListener("change", () => {
        if (box.checked) drawn.add(name);
        else drawn.delete(name);
        changed();
      });
      onChange(() => { box.checked = drawn.has(name); });
    });
  });
}

const themeButton = document.getElementById("theme");
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function showTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  themeButton.setAttribute("aria-pressed", isDark());
}
themeButton.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);

document.getElementById("download").addEventListener("click", () => {
  const file = new Blob([JSON.stringify(report, null, 1)], { type: "application/json" });
  const link = html("a", "", document.body, { href: URL.createObjectURL(file), download: "trueodds-report.json" });
  link.click();
  link.remove();
  URL.revokeObjectURL(link.href);
});

let lastWidth = 0;
new ResizeObserver(() => {
  const width = document.querySelector("main").clientWidth;
  if (width !== lastWidth) {
    lastWidth = width;
    plots.forEach((plot) => plot.draw());
    costPlot.draw();
    if (decisionPlot) decisionPlot.draw();
  }
}).observe(document.querySelector("main"));

showTheme();
fillChips();
// Rare events are invisible on a linear axis.
const rare = report.data.binary && report.diagnosis.observed < 0.05;
if (rare) setAxis("log_odds");
else resetRange();
drawCosts();
drawDecisions();
