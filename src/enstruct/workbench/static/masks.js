// Masks: strokes on the picture, and the mask follows.
import { el } from "./dom.js";
import { RowView } from "./view.js";

const COLOURS = ["0 0 0", "26 133 255", "212 17 89", "255 194 10", "64 176 166", "93 58 155", "230 97 0"];

export class MaskView extends RowView {
  constructor(app) {
    super(app);
    this.values = app.session.names.map(Number);
    this.value = this.values[1] ?? this.values[0];
    this.radius = 3;
    this.opacity = 0.45;
  }

  keys() {
    return [["1 to 9", "paint this class"], ["+ −", "a larger or a smaller brush"], ["x", "take back the last stroke"], ["m", "show the picture without its mask"],
      ["Enter", "the mask is right as shown: finish it"]];
  }

  async show(state, content) {
    this.state = state;
    this.size = [content.height, content.width];
    this.answers = null;
    const [height, width] = this.size, scale = Math.max(1, Math.min(16, Math.floor(560 / Math.max(height, width))));
    const picture = el("canvas", { width, height, role: "img", "aria-label": `Picture ${content.name}` });
    this.over = el("canvas", { width, height, class: "over", "aria-label": "Paint here: the mask as it is", role: "img", tabindex: "0" });
    picture.style.width = `${width * scale}px`;
    const image = new Image();
    image.onload = () => picture.getContext("2d").drawImage(image, 0, 0);
    image.src = content.picture;
    this.over.addEventListener("pointerdown", (event) => this.begin(event));
    this.over.addEventListener("pointermove", (event) => this.move(event));
    this.over.addEventListener("pointerup", (event) => this.end(event));
    this.over.addEventListener("pointercancel", () => { this.stroke = null; this.draw(); });
    this.classes = el("div", { class: "types", role: "group", "aria-label": "Class to paint" }, ...this.values.map((value, k) => {
      const made = el("button", { type: "button", "data-type": String(value), onclick: () => this.pick(value) }, `${k + 1} class ${value}`);
      made.style.setProperty("--hue", `rgb(${COLOURS[k % COLOURS.length]})`);
      return made;
    }));
    const radius = el("input", { type: "range", min: "1", max: String(Math.max(8, Math.round(Math.max(height, width) / 8))), value: String(this.radius), id: "radius", oninput: (event) => { this.radius = Number(event.target.value); } });
    this.brush = radius;
    this.app.fill(
      el("section", { class: "panel", "aria-label": "Picture" }, el("h2", {}, "Picture ", el("span", { class: "row-number" }, content.name)), el("div", { class: "stage" }, picture, this.over)),
      el("section", { class: "panel", "aria-label": "Tools" }, el("h2", {}, "Paint what you know; the rest follows"), this.classes,
        el("div", { class: "tools" }, el("label", {}, "Brush", radius)),
        this.finishLine()));
    this.pick(this.value);
    await this.update(state);
  }

  pick(value) {
    this.value = value;
    for (const button of this.classes.children) button.setAttribute("aria-pressed", String(Number(button.dataset.type) === value));
  }

  draw(hidden = false) {
    const context = this.over.getContext("2d"), [height, width] = this.size;
    context.clearRect(0, 0, width, height);
    if (this.answers && !hidden) {
      const pixels = context.createImageData(width, height);
      let at = 0;
      for (const [value, length] of this.answers.runs) {
        const k = this.values.indexOf(value), [r, g, b] = COLOURS[k % COLOURS.length].split(" ").map(Number);
        for (let end = at + length; at < end; at++) pixels.data.set([r, g, b, k === 0 ? 0 : 255 * this.opacity], 4 * at);
      }
      context.putImageData(pixels, 0, 0);
    }
    for (const name of Object.keys(this.state.cells).filter((one) => one !== "mask")) this.paint(context, this.state.cells[name]);
    if (this.stroke) this.paint(context, this.stroke);
    this.stateLine.textContent = this.state.done ? "Finished" : "";
  }

  paint(context, stroke) {
    const k = this.values.indexOf(stroke.class);
    context.strokeStyle = k === 0 ? "rgb(255 255 255 / .8)" : `rgb(${COLOURS[k % COLOURS.length]} / .9)`;
    context.lineWidth = Math.max(1, 2 * stroke.radius);
    context.lineCap = "round";
    context.lineJoin = "round";
    context.beginPath();
    const [first] = stroke.points;
    context.moveTo(first[1], first[0]);
    context.lineTo(first[1] + 0.01, first[0]);
    for (const [y, x] of stroke.points.slice(1)) context.lineTo(x, y);
    context.stroke();
  }

  place(event) {
    const box = this.over.getBoundingClientRect(), [height, width] = this.size;
    const round = (value) => Math.round(10 * value) / 10;
    return [round(((event.clientY - box.top) / box.height) * height), round(((event.clientX - box.left) / box.width) * width)];
  }

  begin(event) {
    if (event.button !== 0) return;
    this.over.setPointerCapture(event.pointerId);
    this.stroke = { class: this.value, radius: this.radius, points: [this.place(event)] };
    this.draw();
  }

  move(event) {
    if (!this.stroke) return;
    this.stroke.points.push(this.place(event));
    this.draw();
  }

  async end() {
    if (!this.stroke) return;
    const stroke = this.stroke, numbers = Object.keys(this.state.cells).filter((name) => name !== "mask").map((name) => Number(name.slice(1)));
    this.stroke = null;
    const name = `s${numbers.length ? Math.max(...numbers) + 1 : 0}`, seen = this.state.version;
    this.state = { ...this.state, cells: { ...this.state.cells, [name]: stroke } };
    this.draw();
    await this.app.tell(this.state.row, { [name]: stroke, ...("mask" in this.state.cells ? { mask: null } : {}) }, false, seen);
  }

  // The last stroke of this picture, whoever painted it.
  async takeBack() {
    const numbers = Object.keys(this.state.cells).filter((name) => name !== "mask").map((name) => Number(name.slice(1)));
    if (!numbers.length) return;
    const name = `s${Math.max(...numbers)}`;
    await this.app.tell(this.state.row, { [name]: null, ...("mask" in this.state.cells ? { mask: null } : {}) }, false, this.state.version);
  }

  whole() { return { mask: this.answers.runs }; }

  key(event) {
    if (/^[1-9]$/.test(event.key)) {
      const value = this.values[Number(event.key) - 1];
      if (value !== undefined) this.pick(value);
    } else if (event.key === "+" || event.key === "-") {
      this.radius = Math.max(1, Math.min(Number(this.brush.max), this.radius + (event.key === "+" ? 1 : -1)));
      this.brush.value = String(this.radius);
    } else if (event.key === "m") { this.hidden = !this.hidden; this.draw(this.hidden); }
    else if (event.key === "x" || event.key === "Backspace") this.takeBack();
    else if (event.key === "Enter") this.done();
    else return false;
    return true;
  }
}
