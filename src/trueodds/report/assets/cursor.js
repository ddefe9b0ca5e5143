/* A plot with a cursor that pointer and arrow keys move along the x axis.

   A subclass says how many places there are (count), where the keys begin (start), and shows one
   (select); it sets this.x when it draws. */
class CursorPlot {
  constructor(place) {
    this.place = place;
    this.root = svg("svg", { tabindex: 0, role: "img" }, place);
    this.tooltip = new Tooltip(place);
    this.at = null;
    this.root.addEventListener("pointermove", (event) => this.hover(event));
    this.root.addEventListener("pointerdown", (event) => this.hover(event));
    this.root.addEventListener("pointerleave", () => this.leave());
    this.root.addEventListener("blur", () => this.leave());
    this.root.addEventListener("focus", () => { if (this.root.matches(":focus-visible")) this.select(this.start(), true); });
    this.root.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step && event.key !== "Escape") return;
      event.preventDefault();
      if (!step) this.leave();
      else this.select(clamp((this.at ?? this.start()) + step, 0, this.count() - 1), true);
    });
  }

  names() {
    return [...new Set([report.baseline, ...drawnMethods()])];
  }

  /* Empty, and as wide as its place; returns the width. */
  clear(height) {
    const width = this.place.clientWidth || 320;
    this.root.replaceChildren();
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("width", width);
    this.root.setAttribute("height", height);
    return width;
  }

  /* What the lines mean, above the picture; returns where the picture begins. */
  drawKeys(keys, left, right) {
    return drawLegend(this.root, left, 12, right, keys) + 4;
  }

  /* The value on the x axis below the pointer. */
  valueAt(event) {
    const box = this.root.getBoundingClientRect();
    return this.x.invert((event.clientX - box.left) * (this.root.viewBox.baseVal.width / box.width));
  }
}
