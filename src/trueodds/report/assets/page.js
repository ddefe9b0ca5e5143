/* The page: saving pictures and numbers, the choice of methods, theme, width. Everything starts here. */
import { changed, drawn, drawnMethods, labelOf, looks, methodNames, onChange, report } from "./data.js";
import { costPlot, decisionPlot, drawCosts, drawDecisions } from "./decisions.js";
import { html, SVG, svg } from "./draw.js";
import { drawClasses, plots, setDiagram } from "./reliability.js";

/* Every picture can be saved: as SVG with its looks written out, or as PNG at twice its size. */
const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "display",
];
const PNG_SCALE = 2;

function offer(blob, name) {
  const link = html("a", "", document.body, { href: URL.createObjectURL(blob), download: name });
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* A copy that needs no style sheet, on the color of the page. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    LOOKS.forEach((name) => element.setAttribute(name, style.getPropertyValue(name)));
    ["class", "tabindex", "role"].forEach((name) => element.removeAttribute(name));
  });
  const { width, height } = picture.viewBox.baseVal;
  const paper = getComputedStyle(picture.closest("section")).backgroundColor;
  copy.prepend(svg("rect", { width, height, fill: paper }));
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function savePicture(picture, name, kind) {
  const { text, width, height } = standalone(picture);
  if (kind === "svg") {
    offer(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
    return;
  }
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = html("canvas");
    [canvas.width, canvas.height] = [PNG_SCALE * width, PNG_SCALE * height];
    const context = canvas.getContext("2d");
    context.scale(PNG_SCALE, PNG_SCALE);
    context.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => offer(blob, `${name}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function offerPictures() {
  document.querySelectorAll("[data-picture]").forEach((place) => {
    const picture = place.querySelector("svg");
    const line = html("p", "Save this picture: ", null, { class: "save" });
    place.after(line);
    ["svg", "png"].forEach((kind) => {
      const label = `Save the picture ${place.dataset.picture} as ${kind.toUpperCase()}`;
      const button = html("button", kind.toUpperCase(), line, { type: "button", class: "button small", "aria-label": label });
      button.addEventListener("click", () => savePicture(picture, place.dataset.picture, kind));
    });
  });
}

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
  themeButton.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
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
