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

/* A copy that needs no style sheet, on the colour of the page. */
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
