// Review: given labels, the least likely first, each with the reason in words.
import { rowOf, suspects } from "./backend.js";
import { contents, el, get, has, put } from "./dom.js";

const LISTED = 200; // at a time

export class ReviewView {
  constructor(app) { this.app = app; this.at = 0; this.first = 0; this.turn = 0; this.ready = false; }

  keys() {
    return [["a", "accept: the label is what the model holds for right"], ["k", "keep the label as it is given"], ["↓ ↑", "next or previous suspect"]];
  }

  async begin() {
    this.suspects = await suspects();
    const open = this.suspects.findIndex((one) => one.answer === null);
    this.at = open < 0 ? 0 : open;
    this.listed = el("ol", { class: "suspects", "aria-label": "Suspects" });
    this.side = el("div", {});
    this.app.fill(this.side, el("section", { "aria-label": "Suspects" }, this.listed));
    await this.select(this.at);
  }

  async select(at) {
    if (!this.suspects.length) { this.side.replaceChildren(el("p", {}, "No given label is known: there is nothing to review.")); return; }
    this.at = Math.max(0, Math.min(this.suspects.length - 1, at));
    this.first = Math.floor(this.at / LISTED) * LISTED;
    this.ready = false; // until the row of this suspect is shown, keys do not answer it
    const turn = ++this.turn, row = await rowOf(this.suspects[this.at].row);
    if (turn !== this.turn) return;
    this.row = row;
    this.ready = true;
    this.draw();
    this.listed.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
  }

  draw() {
    const shown = this.suspects.slice(this.first, this.first + LISTED);
    this.listed.setAttribute("start", String(this.first + 1));
    this.listed.replaceChildren(...shown.map((one, k) => this.item(one, this.first + k)));
    const { row, content, given_labels: given, cells } = this.row;
    const marks = Object.entries(given).map(([name, value]) => {
      const now = has(cells, name) ? get(cells, name) : value;
      return el("li", {}, el("button", { type: "button", class: now !== value ? "changed" : "", "aria-pressed": String(now), "aria-label": `${name}: ${now ? "there" : "not there"}`,
        onclick: () => this.change(row, name, !now) }, `${now ? "✓ " : ""}${name}`));
    });
    marks.sort((a, b) => b.firstChild.ariaPressed.localeCompare(a.firstChild.ariaPressed));
    const panel = contents(row, content);
    panel.append(el("h2", {}, "Its labels"), el("p", { class: "count" }, "A click changes one; changed ones are underlined."), el("ul", { class: "given" }, ...marks));
    this.side.replaceChildren(panel);
  }

  item(one, at) {
    const there = one.given ? "is there" : "is not there", other = one.given ? "not there" : "there";
    const answer = one.answer === null ? null : el("p", { class: "answered" }, one.answer === one.given ? "Kept" : `Changed: ${other}`);
    return el("li", { class: "suspect", "aria-current": String(at === this.at), "data-suspect": String(at), onclick: () => { if (at !== this.at) this.select(at); } },
      el("p", {}, el("strong", {}, one.label), ` ${there} in row ${one.row} `, el("span", { class: "quality" }, `${(100 * one.quality).toPrecision(2)}% likely`)),
      el("p", {}, one.reason), answer,
      el("div", { class: "types" },
        el("button", { type: "button", class: at === this.at ? "main" : "", "data-say": "accept", onclick: (event) => { event.stopPropagation(); this.answer(at, !one.given); } }, `It is ${other}`),
        el("button", { type: "button", "data-say": "keep", onclick: (event) => { event.stopPropagation(); this.answer(at, one.given); } }, "Keep it")));
  }

  async answer(at, value) {
    const one = this.suspects[at];
    one.answer = value; // shown at once; the server's word replaces it
    const open = this.suspects.findIndex((each, k) => k > at && each.answer === null);
    this.at = open < 0 ? at : open;
    this.ready = false;
    await this.app.tell(one.row, put({}, one.label, value), false, one.version);
    await this.refresh();
    await this.select(this.at);
  }

  async change(row, name, value) {
    await this.app.tell(row, put({}, name, value), false, this.row.version);
    await this.refresh();
    await this.select(this.at);
  }

  async refresh() { this.suspects = await suspects(); }

  async update() { await this.refresh(); await this.select(this.at); }

  key(event) {
    const one = this.suspects?.[this.at];
    if (!one) return false;
    if ((event.key === "a" || event.key === "k") && !this.ready) return true;
    if (event.key === "a") this.answer(this.at, !one.given);
    else if (event.key === "k") this.answer(this.at, one.given);
    else if (event.key === "ArrowDown") this.select(this.at + 1);
    else if (event.key === "ArrowUp") this.select(this.at - 1);
    else return false;
    return true;
  }
}
