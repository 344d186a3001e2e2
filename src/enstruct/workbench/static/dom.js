// Cells by name, whatever the names are: none of them is taken for a property that all objects have.
export const has = (cells, name) => Object.hasOwn(cells, name);
export const get = (cells, name) => (Object.hasOwn(cells, name) ? cells[name] : undefined);
export const put = (cells, name, value) => Object.defineProperty(cells, name, { value, writable: true, enumerable: true, configurable: true });

// Elements are made here, and text only ever set as text: what rows hold is never markup.
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const percent = (p) => (p < 0.001 ? "<0.1%" : p > 0.999 && p < 1 ? ">99.9%" : `${(100 * p).toFixed(p < 0.1 || p > 0.9 ? 1 : 0)}%`);

const signed = (away) => { const text = Math.abs(away).toFixed(1); return text === "0.0" ? text : `${away > 0 ? "+" : "−"}${text}`; };

// What a row holds: its picture, text and strongest features.
export function contents(row, content) {
  const parts = [el("h2", {}, "Row ", el("span", { class: "row-number" }, String(row)))];
  if (content.picture) parts.push(el("img", { class: "picture", src: content.picture, alt: `Picture of row ${row}` }));
  if (content.text !== undefined) parts.push(el("p", { class: "text", tabindex: "0", "aria-label": "Text of the row" }, content.text));
  if (content.features?.length) {
    const head = el("tr", {}, ...["Feature", "Value", "Deviations"].map((name) => el("th", { scope: "col" }, name)));
    const rows = content.features.map(([name, value, away]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, String(value)), el("td", {}, signed(away))));
    parts.push(el("table", { class: "features" }, el("caption", { class: "count" }, "Farthest from their means"), el("thead", {}, head), el("tbody", {}, ...rows)));
  }
  if (content.features && !content.features.length && content.text === undefined && !content.picture) parts.push(el("p", {}, "All features of this row are 0."));
  return el("section", { class: "panel", "aria-label": "What the row holds" }, ...parts);
}
