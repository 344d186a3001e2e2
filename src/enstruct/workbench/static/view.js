// What the views of a row have in common: the row as it stands, the model's answers to it, and the line that finishes it.
import { answersOf } from "./backend.js";
import { el } from "./dom.js";

export class RowView {
  constructor(app) {
    this.app = app;
    this.read = {}; // what somebody has read as shown, and left as it was
    this.answers = null;
    this.turn = 0; // of requests: what comes late is dropped
  }

  // The row stands otherwise: ask anew. ``asking``: until the answers are there.
  async update(state) {
    this.state = state;
    this.asking = this.ask();
    await this.asking;
  }

  async ask() {
    const turn = ++this.turn;
    const answers = await answersOf(this.state.row, this.read);
    if (turn !== this.turn) return;
    this.answers = answers;
    this.app.whenReleased(() => this.draw());
    this.answered(turn);
  }

  // What else a kind of output asks once it has its answers.
  answered() {}

  finishLine() {
    const finish = el("button", { type: "button", class: "main", id: "finish", onclick: () => this.done() }, "Right as shown (Enter)");
    this.stateLine = el("span", { class: "state", role: "status" });
    return el("div", { class: "done-line" }, finish, this.stateLine);
  }

  // ``whole``: the cells of a row that is right as shown.
  done() { return this.app.finish(() => this.whole()); }
}
