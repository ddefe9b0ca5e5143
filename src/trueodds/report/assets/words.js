/* Numbers in words. */

/* A probability in as many digits as it needs: 0.42, 0.0013, 0.9987. */
export function probabilityText(p) {
  if (p === 0 || p === 1) return String(p);
  const distance = Math.min(p, 1 - p);
  const places = Math.min(8, Math.max(3, Math.ceil(-Math.log10(distance)) + 1));
  return p.toFixed(places);
}

export function countText(value) {
  return Math.round(value).toLocaleString("en-US");
}

export function signed(text) {
  return text.replace("-", "\u2212");
}

/* 0.001 as it is, smaller ones as powers; the same from the other end. */
export function powerText(p) {
  const power = (q) => `10\u207b${"\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076"[Math.round(-Math.log10(q))]}`;
  if (p < 0.000999) return power(p);
  return p > 0.9991 ? `1\u2212${power(1 - p)}` : String(p);
}

/* "5 times", and "a fifth of" as "0.2 times": short and never wrong. */
export function ratioText(ratio) {
  const shown = ratio >= 100 ? Math.round(ratio).toLocaleString("en-US") : String(Number(ratio.toPrecision(2)));
  return ratio === 1 ? "as much as" : `${shown} times as much as`;
}

export function costText(value) {
  const size = Math.abs(value);
  if (size < 0.005) return "0";
  return signed(size >= 100 ? countText(value) : value.toFixed(size >= 10 ? 1 : 2));
}
