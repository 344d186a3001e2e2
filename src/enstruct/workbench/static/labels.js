// Label sets: every label with its probability; one told moves all others.
import { questionOf } from "./backend.js";
import { contents, el, get, has, percent, put } from "./dom.js";
import { RowView } from "./view.js";

const FEW = 30; // labels that are listed surest first; more are listed likeliest first

export class LabelView extends RowView {
  constructor(app) {
    super(app);
    this.names = app.session.names;
    this.sort = this.names.length <= FEW ? "surest" : "likeliest";
    this.filter = "";
    this.countRead = true;
    this.focus = null;
  }

  keys() {
    return [["y", "yes, the label is there"], ["n", "no, it is not"], ["x or Backspace", "take it back: not told"], ["↓ ↑", "next or previous label"],
      ["q", "go to the label that teaches most"], ["/", "find a label"], ["Enter", "the row is right as shown: finish it"]];
  }

  async show(state, content) {
    this.state = state;
    this.read = {};
    this.answers = null;
    this.question = null;
    this.focus = null;
    this.list = el("div", {});
    const sorts = [["surest", "surest first"], ["likeliest", "likeliest first"], ["given", "as in the data"]];
    const select = el("select", { id: "sort", onchange: (event) => { this.sort = event.target.value; this.draw(); } },
      ...sorts.map(([value, text]) => el("option", { value, selected: value === this.sort }, text)));
    this.search = el("input", { type: "search", id: "find", placeholder: "Find a label", "aria-label": "Find a label", value: this.filter,
      oninput: (event) => { this.filter = event.target.value; this.draw(); } });
    const read = el("input", { type: "checkbox", id: "read", checked: this.countRead, onchange: (event) => { this.countRead = event.target.checked; } });
    const tools = el("div", { class: "tools" }, this.search, el("label", {}, "Order", select),
      el("label", { title: "What stands above a label that you correct counts as read and right, for this row's answers alone" }, read, "what is above counts as read"));
    const right = el("section", { class: "panel", "aria-label": "Labels" }, tools, this.list, this.finishLine());
    this.app.fill(contents(state.row, content), right);
    await this.update(state);
  }

  // The question, which nothing waits for.
  async answered(turn) {
    if (this.answers.problem) this.app.say(this.answers.problem);
    const question = this.answers.p === null ? null : await questionOf(this.state.row, this.read).catch(() => null);
    if (turn !== this.turn) return;
    this.question = question;
    this.list.dataset.question = question ?? "";
    this.app.whenReleased(() => this.draw());
  }

  // Numbers of the labels, in the order in which they are listed.
  order() {
    const p = this.answers.p, numbers = this.names.map((_, k) => k);
    if (p === null || this.sort === "given") return numbers;
    const key = this.sort === "likeliest" ? (k) => p[k] : (k) => Math.abs(p[k] - 0.5);
    const told = (k) => (has(this.state.cells, this.names[k]) ? 1 : 0);
    return numbers.sort((a, b) => told(b) - told(a) || key(b) - key(a) || a - b);
  }

  draw() {
    if (!this.answers) return;
    const order = this.order(), wanted = this.filter.trim().toLowerCase();
    const visible = order.filter((k) => this.names[k].toLowerCase().includes(wanted));
    const two = this.sort !== "given" && this.answers.p !== null;
    const lists = two ? [["There", visible.filter((k) => this.answers.shown[k])], ["Not there", visible.filter((k) => !this.answers.shown[k])]] : [["Labels", visible]];
    const scrolled = [...this.list.querySelectorAll("ul")].map((each) => each.scrollTop);
    const focused = document.activeElement?.dataset?.part;
    const columns = lists.map(([title, numbers]) => el("div", {}, el("h2", {}, `${title} `, el("span", { class: "count" }, String(numbers.length))),
      el("ul", { class: "labels", "aria-label": title }, ...numbers.map((k) => this.line(k)))));
    this.list.replaceChildren(el("div", { class: two ? "columns" : "columns one" }, ...columns));
    this.list.querySelectorAll("ul").forEach((each, k) => { each.scrollTop = scrolled[k] ?? 0; });
    if (this.focus !== null && focused) this.list.querySelector(`[data-label="${this.focus}"] [data-part="${focused}"]`)?.focus({ preventScroll: false });
    const told = Object.keys(this.state.cells).length;
    this.stateLine.textContent = this.state.done ? "Finished" : told ? `${told} told` : "";
  }

  line(k) {
    const name = this.names[k], p = this.answers.p?.[k], cell = get(this.state.cells, name), read = has(this.read, name);
    const kind = cell === true ? "yes" : cell === false ? "no" : read ? "read" : "";
    const said = cell === true ? "told: yes" : cell === false ? "told: no" : read ? "read" : "not told";
    const mark = cell === true ? "✓" : cell === false ? "✗" : read ? "·" : "";
    const fill = el("span", { class: "fill", "aria-hidden": "true" });
    if (p !== undefined) fill.style.width = `${100 * p}%`;
    const share = p === undefined ? "" : percent(p);
    const ask = this.question === name ? el("span", { class: "ask" }, "asked ") : null;
    const main = el("button", { type: "button", class: "name", "data-part": "name", onclick: () => this.cycle(k), onfocus: () => { this.focus = k; },
      title: said },
    fill, el("span", { class: "mark", "aria-hidden": "true" }, mark), el("span", { class: "what" }, ask, name), el("span", { class: "unseen" }, `, ${said}, `), el("span", { class: "share" }, share));
    const say = (value, sign, word) => el("button", { type: "button", class: "say", "data-part": word, "aria-label": `${word}: ${name}`, title: word,
      "aria-pressed": String(cell === value), onfocus: () => { this.focus = k; }, onclick: () => this.tell(k, cell === value ? null : value) }, sign);
    const why = get(this.answers.follows, name);
    return el("li", { class: `label ${kind} ${ask ? "question" : ""}`, "data-label": String(k) }, main, say(true, "✓", "yes"), say(false, "✗", "no"),
      why ? el("span", { class: "why" }, `follows by the rule: ${why}`) : null);
  }

  cycle(k) {
    const cell = get(this.state.cells, this.names[k]);
    this.tell(k, cell === undefined ? true : cell === true ? false : null);
  }

  async tell(k, value) {
    if (!this.answers) return;
    const name = this.names[k];
    // of a list that is filtered nobody has read what the filter hides
    if (value !== null && value !== this.answers.shown[k] && this.countRead && this.answers.p !== null && !this.filter.trim()) {
      for (const other of this.order()) {
        if (other === k) break;
        if (!has(this.state.cells, this.names[other])) put(this.read, this.names[other], this.answers.shown[other]);
      }
    }
    delete this.read[name];
    this.focus = k;
    // shown at once; the server's word replaces it
    const cells = { ...this.state.cells };
    if (value === null) delete cells[name]; else put(cells, name, value);
    const seen = this.state.version, done = this.state.done && value !== null;
    this.state = { ...this.state, cells };
    this.draw();
    await this.app.tell(this.state.row, put({}, name, value), done, seen);
  }

  whole() {
    return { ...Object.fromEntries(this.names.map((name, k) => [name, this.answers.shown[k]])), ...this.state.cells };
  }

  go(step) {
    const lines = [...this.list.querySelectorAll("[data-label]")];
    if (!lines.length) return;
    const at = lines.findIndex((line) => Number(line.dataset.label) === this.focus);
    const next = lines[Math.max(0, Math.min(lines.length - 1, at < 0 ? (step > 0 ? 0 : lines.length - 1) : at + step))];
    next.querySelector(".name").focus();
    next.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const at = this.focus;
    if (event.key === "ArrowDown" || event.key === "j") this.go(1);
    else if (event.key === "ArrowUp" || event.key === "k") this.go(-1);
    else if (event.key === "y" && at !== null) this.tell(at, true);
    else if (event.key === "n" && at !== null) this.tell(at, false);
    else if ((event.key === "x" || event.key === "Backspace") && at !== null) this.tell(at, null);
    else if (event.key === "q" && this.question !== null) {
      this.filter = ""; this.search.value = ""; this.draw();
      const line = this.list.querySelector(`[data-label="${this.names.indexOf(this.question)}"] .name`);
      line?.focus();
      line?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "/") this.search.focus();
    else if (event.key === "Enter") this.done();
    else return false;
    return true;
  }
}
