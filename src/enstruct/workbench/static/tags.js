// Tags: words with coloured spans; a told span moves the others.
import { el, has, percent } from "./dom.js";
import { RowView } from "./view.js";

const UNSURE = 0.8; // below it a tag is underlined
const PREFIXES = { IOB1: "BI", IOB2: "BI", BIOES: "BIES", BILOU: "BILU" };

export class TagView extends RowView {
  constructor(app) {
    super(app);
    const { names, types, scheme } = app.session;
    this.scheme = scheme;
    this.types = scheme ? types : names;
  }

  keys() {
    return [["← → with Shift", "choose words"], ["1 to 9", "the chosen words are such a span"], ["0", "they are no span"],
      ["x or Backspace", "take back what is told of them"], ["Enter", "the sentence is right as shown: finish it"]];
  }

  hue(element, type) {
    const at = this.types.indexOf(type);
    if (at >= 0) element.style.setProperty("--hue", `hsl(${(at * 137 + 210) % 360} 65% 50%)`);
    return element;
  }

  async show(state, content) {
    this.state = state;
    this.words = content.words;
    this.chosen = null;
    this.answers = null;
    this.line = el("div", { class: "words", role: "group", "aria-label": "Sentence" });
    const one = (type, key, say) => this.hue(el("button", { type: "button", onclick: say, "data-type": type }, `${key <= 9 ? `${key} ` : ""}${type}`), type);
    const types = el("div", { class: "types", role: "group", "aria-label": "Say of the chosen words" },
      ...this.types.map((type, k) => one(type, k + 1, () => this.say(type))),
      this.scheme ? one("no span", 0, () => this.say(null)) : null,
      el("button", { type: "button", onclick: () => this.take() }, "Take back (x)"));
    this.hint = el("p", { class: "count" });
    this.app.fill(el("section", { class: "panel", "aria-label": "Sentence" }, el("h2", {}, "Sentence ", el("span", { class: "row-number" }, String(state.row))),
      this.line, this.hint, types, this.finishLine()));
    await this.update(state);
  }

  draw() {
    if (!this.answers) return;
    const { tags, p, spans } = this.answers, of = new Map();
    for (const [type, start, end] of spans) for (let k = start; k < end; k++) of.set(k, { type, first: k === start, last: k === end - 1 });
    if (!this.scheme) tags.forEach((tag, k) => of.set(k, { type: tag, first: true, last: true }));
    const focused = document.activeElement?.dataset?.word;
    this.line.replaceChildren(...this.words.map((word, k) => {
      const span = of.get(k), told = has(this.state.cells, String(k));
      const kinds = ["word", span ? "in" : "", span?.first ? "first" : "", span?.last ? "last" : "", told ? "told" : "", !told && p[k] < UNSURE ? "unsure" : "", this.isChosen(k) ? "chosen" : ""];
      const made = el("button", { type: "button", class: kinds.filter(Boolean).join(" "), "data-word": String(k), title: `${tags[k]}, ${told ? "told" : percent(p[k])}`,
        "aria-pressed": String(this.isChosen(k)),
        onclick: (event) => this.choose(k, event.shiftKey), onpointerdown: (event) => { this.dragged = false; if (!event.shiftKey) this.drag = k; },
        onpointerenter: (event) => { if (this.drag !== undefined && event.buttons === 1 && k !== this.drag) { this.chosen = [this.drag, k]; this.dragged = true; this.draw(); } } },
      span?.first ? el("span", { class: "type", "aria-hidden": "true" }, span.type) : null, word, el("span", { class: "unseen" }, `: ${tags[k]}, ${told ? "told" : percent(p[k])}`));
      return span ? this.hue(made, span.type) : made;
    }));
    if (focused !== undefined) this.line.querySelector(`[data-word="${focused}"]`)?.focus();
    this.hint.textContent = this.chosen ? `Chosen: ${this.range().map((k) => this.words[k]).join(" ")}` : "Choose words by a click, a drag, or Shift and a click; then say what they are.";
    this.stateLine.textContent = this.state.done ? "Finished" : "";
  }

  isChosen(k) { return this.chosen !== null && k >= Math.min(...this.chosen) && k <= Math.max(...this.chosen); }

  range() { const [a, b] = [Math.min(...this.chosen), Math.max(...this.chosen)]; return Array.from({ length: b - a + 1 }, (_, k) => a + k); }

  choose(k, extend) {
    this.drag = undefined;
    if (this.dragged) { this.dragged = false; return; }
    const span = this.scheme ? this.answers.spans.find(([, start, end]) => k >= start && k < end) : undefined;
    this.chosen = extend && this.chosen ? [this.chosen[0], k] : this.chosen === null && span ? [span[1], span[2] - 1] : [k, k];
    this.draw();
    this.line.querySelector(`[data-word="${k}"]`)?.focus();
  }

  // The tags of the chosen words, in the scheme of training.
  tags(type) {
    const places = this.range();
    if (!this.scheme) return places.map(() => type);
    if (type === null) return places.map(() => "O");
    const letters = PREFIXES[this.scheme], n = places.length;
    if (letters.length === 4) return n === 1 ? [`${letters[3]}-${type}`] : places.map((_, k) => `${k === 0 ? "B" : k === n - 1 ? letters[2] : "I"}-${type}`);
    if (this.scheme === "IOB1") {
      const before = places[0] > 0 ? this.answers.tags[places[0] - 1] : "O";
      return places.map((_, k) => `${k === 0 && before.slice(2) === type ? "B" : "I"}-${type}`);
    }
    return places.map((_, k) => `${k === 0 ? "B" : "I"}-${type}`);
  }

  async say(type) {
    if (this.chosen === null || !this.answers) return;
    const tags = this.tags(type), cells = {};
    this.range().forEach((k, at) => { cells[String(k)] = tags[at]; });
    this.leave();
    await this.app.tell(this.state.row, cells, false, this.state.version);
  }

  // Back to the sentence, where keys go on.
  leave() {
    const [first] = this.range();
    this.chosen = null;
    this.line.querySelector(`[data-word="${first}"]`)?.focus();
  }

  async take() {
    if (this.chosen === null) return;
    const cells = Object.fromEntries(this.range().filter((k) => has(this.state.cells, String(k))).map((k) => [String(k), null]));
    this.leave();
    if (Object.keys(cells).length) await this.app.tell(this.state.row, cells, false, this.state.version);
    else this.draw();
  }

  whole() {
    return { ...Object.fromEntries(this.answers.tags.map((tag, k) => [String(k), tag])), ...this.state.cells };
  }

  key(event) {
    if (/^[0-9]$/.test(event.key)) {
      const type = event.key === "0" ? null : this.types[Number(event.key) - 1];
      if (type !== undefined && (type !== null || this.scheme)) this.say(type);
    } else if (event.shiftKey && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      const at = Number(document.activeElement?.dataset?.word ?? this.chosen?.[1] ?? -1), step = event.key === "ArrowRight" ? 1 : -1;
      const next = Math.max(0, Math.min(this.words.length - 1, at + step));
      this.chosen = this.chosen === null ? [Math.max(at, 0), next] : [this.chosen[0], next];
      this.draw();
      this.line.querySelector(`[data-word="${next}"]`)?.focus();
    } else if (event.key === "x" || event.key === "Backspace") this.take();
    else if (event.key === "Enter") this.done();
    else return false;
    return true;
  }
}
