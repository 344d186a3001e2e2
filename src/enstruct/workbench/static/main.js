// The page: which rows are shown, what is told of them, and what everybody's keys do. How a kind of output looks is its view's.
import * as backend from "./backend.js";
import { el, put } from "./dom.js";
import { LabelView } from "./labels.js";
import { MaskView } from "./masks.js";
import { ReviewView } from "./review.js";
import { TagView } from "./tags.js";

const EVERY = 2500; // milliseconds between looks at what others did
const $ = (id) => document.getElementById(id);

class App {
  async begin() {
    // what a view asked for while the server was away, whichever it was; errors of the programs stay errors
    window.addEventListener("unhandledrejection", (event) => {
      if (!(event.reason instanceof backend.Refused || event.reason instanceof backend.Unreachable)) return;
      event.preventDefault();
      this.say(event.reason.message);
    });
    await backend.identify();
    this.session = await backend.session();
    this.past = [];
    this.row = null;
    this.model = 0;
    this.sent = []; // acts under way
    this.opened = 0; // rows that were asked for
    $("title").textContent = this.session.title;
    document.title = `${this.session.title} – enstruct workbench`;
    $("rules").hidden = !this.session.rules.length;
    $("rule-list").replaceChildren(...this.session.rules.map((words) => el("li", {}, words)));
    $("kept").textContent = `Answers are kept in ${this.session.answers}`;
    const reviewing = this.session.mode === "review";
    this.view = reviewing ? new ReviewView(this) : new { labels: LabelView, tags: TagView, masks: MaskView }[this.session.task](this);
    for (const id of ["previous", "next"]) $(id).hidden = reviewing;
    $("previous").addEventListener("click", () => this.back());
    $("next").addEventListener("click", () => this.forward());
    $("undo").addEventListener("click", () => this.undo());
    $("help").addEventListener("click", () => $("keys").showModal());
    $("keys").addEventListener("close", () => this.keysClosed());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", () => { this.held = true; }, true);
    for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => this.released(), true);
    window.addEventListener("blur", () => this.released());
    window.addEventListener("beforeunload", (event) => { if (backend.isWaiting()) event.preventDefault(); });
    const keys = [...this.view.keys(), ["z", "undo your last answer"], ...(reviewing ? [] : [["→ ←", "skip the row, go back"]]), ["?", "these keys"]];
    $("key-list").replaceChildren(...keys.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]));
    const refused = await backend.resend((text) => this.say(text));
    if (reviewing) await this.view.begin();
    else await this.forward();
    if (refused.length) this.say(`Before the page was loaded again: ${refused.join(" ")}`);
    await this.look();
    setInterval(() => this.look().catch(() => undefined), EVERY);
  }

  fill(...parts) {
    $("work").classList.toggle("wide", parts.length === 1);
    $("work").replaceChildren(...parts);
  }

  // Draws now, or, while a button is pressed or the keys are read, once that is over: what is drawn anew under a finger takes no
  // click, and a dialog gives the focus back only to what is still there.
  whenReleased(draw) {
    this.late = draw;
    this.drawLate();
  }

  released() {
    this.held = false;
    setTimeout(() => this.drawLate(), 0);
  }

  keysClosed() {
    if ($("keys").contains(document.activeElement)) $("work").focus(); // a whole row was drawn anew, and the focus had nowhere to go
    this.drawLate();
  }

  drawLate() {
    if (this.held || $("keys").open) return;
    const draw = this.late;
    this.late = null;
    draw?.();
  }

  say(text) { $("message").textContent = text; }

  async open(row) {
    this.loading = true; // keys are not for the row that is left
    const turn = ++this.opened;
    let state;
    try { state = await backend.rowOf(row); } finally { if (turn === this.opened) this.loading = false; }
    if (turn !== this.opened) return; // another row was asked for since
    this.row = row;
    this.state = state;
    this.say("");
    await this.view.show(state, state.content);
  }

  async forward() {
    try {
      const row = await backend.nextRow(this.row ?? -1);
      if (row === null) {
        if (this.row !== null) this.past.push(this.row);
        this.row = null;
        this.fill(el("section", { class: "panel" }, el("h2", {}, "All rows are finished"), el("p", {}, "Download the data, or end the workbench by Ctrl-C where it was started.")));
        return;
      }
      if (this.row !== null) this.past.push(this.row);
      await this.open(row);
    } catch (error) { this.say(error.message); }
  }

  async back() {
    const row = this.past.pop();
    if (row !== undefined) await this.open(row).catch((error) => this.say(error.message));
  }

  // Whether it is kept. The row is shown again as it is where it is not.
  async tell(row, cells, done, seen) {
    const sent = { row, cells };
    this.sent.push(sent);
    try {
      const state = await backend.tell(row, cells, done, seen, (text) => this.say(text));
      this.sent.splice(this.sent.indexOf(sent), 1);
      this.say("");
      if (row === this.row) await this.take(state);
      this.look().catch(() => undefined);
      return true;
    } catch (error) {
      this.sent.splice(this.sent.indexOf(sent), 1);
      if (row === this.row) await this.open(row).catch(() => undefined);
      this.say(error.message);
      return false;
    }
  }

  // How the server says that the row shown stands, with what it has not heard yet.
  async take(state) {
    const cells = { ...state.cells };
    for (const one of this.sent.filter((each) => each.row === state.row)) {
      for (const [name, value] of Object.entries(one.cells)) { if (value === null) delete cells[name]; else put(cells, name, value); }
    }
    this.state = { ...state, cells };
    await this.view.update(this.state).catch((error) => this.say(error.message));
  }

  // The row as it is shown once all that was told of it is kept and answered; ``cells()``: what it is then.
  async finish(cells) {
    if (this.finishing || this.row === null) return;
    this.finishing = true;
    try {
      const row = this.row;
      while (this.sent.some((one) => one.row === row)) await new Promise((resolve) => setTimeout(resolve, 15));
      await this.view.asking;
      if (row !== this.row || !this.view.answers) return;
      if (await this.tell(row, cells(), true, this.state.version)) await this.forward();
    } finally { this.finishing = false; }
  }

  async undo() {
    try {
      const state = await backend.undo((text) => this.say(text));
      if (state === null) { this.say("There is nothing of yours to undo."); return; }
      this.say("");
      if (this.session.mode === "review") await this.view.update();
      else {
        if (state.row !== this.row && this.row !== null) this.past.push(this.row);
        await this.open(state.row);
      }
      await this.look();
    } catch (error) { this.say(error.message); }
  }

  // How far all is; what somebody else did to this row, and whether there is a new model.
  async look() {
    const progress = await backend.progressOf(this.row);
    const { finished, rows } = progress;
    if (this.session.mode === "review") {
      const told = `${progress.told} ${progress.changed}`; // an answer of another tab that turns the other way tells no more
      if (this.told !== undefined && told !== this.told && !this.sent.length && this.view.ready) await this.view.update();
      this.told = told;
      $("progress").textContent = `${progress.answered} of ${progress.suspects} suspects answered, ${progress.changed} labels changed`;
      $("progress-bar").style.width = `${(100 * progress.answered) / Math.max(1, progress.suspects)}%`;
    } else {
      $("progress").textContent = `${finished} of ${rows} rows finished`;
      $("progress-bar").style.width = `${(100 * finished) / Math.max(1, rows)}%`;
    }
    if ($("learning").textContent !== progress.learning) $("learning").textContent = progress.learning;
    const newModel = progress.model !== this.model;
    this.model = progress.model;
    if (this.row !== null && this.state && (newModel || progress.version > this.state.version) && this.session.mode !== "review") {
      const state = await backend.rowOf(this.row);
      if (state.row === this.row && (state.version > this.state.version || newModel)) await this.take(state);
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox";
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const own = ["BUTTON", "A"].includes(event.target.tagName) && event.target.dataset.part === undefined && event.target.dataset.word === undefined;
    if (event.key === "Enter" && own) return; // its own click; on a label or a word Enter finishes the row, and the space bar presses
    const rowThere = this.session.mode === "review" || (this.row !== null && !this.loading);
    let taken = rowThere && this.view.key(event);
    if (!taken) {
      taken = true;
      if (event.key === "z") this.undo();
      else if (event.key === "?") $("keys").showModal();
      else if (event.key === "ArrowRight" && this.session.mode !== "review") this.forward();
      else if (event.key === "ArrowLeft" && this.session.mode !== "review") this.back();
      else taken = false;
    }
    if (taken) event.preventDefault();
  }
}

const app = new App();
app.begin().catch((error) => app.say(error.message));
