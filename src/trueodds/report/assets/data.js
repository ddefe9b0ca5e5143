/* The report's numbers, and what all pictures share: the looks of the methods, and which are drawn. */
export const report = JSON.parse(document.getElementById("report-data").textContent);

/* Shapes tell methods apart without color. */
const SHAPES = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `M${-r * 0.9} ${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`,
  (r) => `M0 ${-r * 1.2}L${r * 1.1} ${r * 0.8}H${-r * 1.1}z`,
  (r) => `M0 ${-r * 1.25}L${r * 1.25} 0 0 ${r * 1.25} ${-r * 1.25} 0z`,
  (r) => `M0 ${r * 1.2}L${r * 1.1} ${-r * 0.8}H${-r * 1.1}z`,
];

/* Every method has one look in all pictures: before and the shown method come first. */
export const methodNames = report.methods.map((row) => row.method);
export const looks = new Map();
[report.baseline, report.shown_method, ...methodNames].forEach((name) => {
  if (looks.has(name)) return;
  const index = looks.size;
  looks.set(name, { color: `m${index % 8}`, shape: SHAPES[index % SHAPES.length], dash: index >= 5 ? " d1" : "" });
});
export const labelOf = (name) => report.labels[name] ?? name;

/* The methods that are drawn, shared by all pictures. */
export const drawn = new Set([report.shown_method]);
const listeners = [];
export function onChange(listener) {
  listeners.push(listener);
}
export function changed() {
  listeners.forEach((listener) => listener());
}
export function drawnMethods() {
  return methodNames.filter((name) => drawn.has(name));
}

export function methodKey(name) {
  const look = looks.get(name);
  return { text: labelOf(name), look: `${look.color}${look.dash}`, shape: look.shape };
}
