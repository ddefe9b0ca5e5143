/* One tooltip for each picture, reached by pointer, touch and keyboard alike. */
const announcer = document.getElementById("announce");

class Tooltip {
  constructor(place) {
    this.place = place;
    this.box = html("div", "", place, { class: "tooltip", role: "tooltip" });
    this.box.hidden = true;
  }

  show(x, y, lines, aloud = false) {
    this.box.replaceChildren();
    lines.forEach((line) => html("div", line, this.box));
    this.box.hidden = false;
    const width = this.place.clientWidth;
    const left = x + 14 + this.box.offsetWidth > width ? x - 14 - this.box.offsetWidth : x + 14;
    this.box.style.left = `${clamp(left, 0, Math.max(0, width - this.box.offsetWidth))}px`;
    this.box.style.top = `${Math.max(0, y - this.box.offsetHeight - 8)}px`;
    if (aloud) announcer.textContent = lines.join(". ");
  }

  hide() {
    this.box.hidden = true;
  }
}
