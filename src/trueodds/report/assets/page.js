/* Controls of the whole page: methods, theme, download, width. */
function fillChips() {
  const place = document.querySelector("[data-chips]");
  const summary = document.querySelector("[data-drawn]");
  methodNames.forEach((name) => {
    const look = looks.get(name);
    const chip = html("label", "", place, { class: `chip ${look.color}` });
    const box = html("input", "", chip, { type: "checkbox", value: name });
    const picture = svg("svg", { width: 22, height: 14, viewBox: "-11 -7 22 14", "aria-hidden": "true" }, chip);
    const swatch = svg("g", { class: "plot" }, picture);
    svg("line", { class: `curve ${look.color}${look.dash}`, x1: -11, x2: 11, y1: 0, y2: 0 }, swatch);
    svg("path", { class: `point outside ${look.color}`, d: look.shape(3.6) }, swatch);
    html("span", labelOf(name), chip);
    box.checked = drawn.has(name);
    box.addEventListener("change", () => {
      if (box.checked) drawn.add(name);
      else drawn.delete(name);
      changed();
    });
  });
  const sum = () => { summary.textContent = drawnMethods().map(labelOf).join(", ") || "none"; };
  onChange(sum);
  sum();
  // On a phone the choice is folded, so that the pictures come first.
  document.getElementById("methods-drawn").open = !matchMedia("(max-width: 720px)").matches;
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
  offer(new Blob([JSON.stringify(report, null, 1)], { type: "application/json" }), "trueodds-report.json");
});

let lastWidth = 0;
new ResizeObserver(() => {
  const width = document.querySelector("main").clientWidth;
  if (width !== lastWidth) {
    lastWidth = width;
    plots.forEach((plot) => plot.draw());
    drawClasses();
    costPlot.draw();
    if (decisionPlot) decisionPlot.draw();
  }
}).observe(document.querySelector("main"));

showTheme();
fillChips();
setDiagram(0);
drawClasses();
drawCosts();
drawDecisions();
offerPictures();
