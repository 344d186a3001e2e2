// The server's side: requests, and answers that are sent until they are kept. An answer has its own name, so that one that is
// sent twice is kept once; those not kept yet survive a reload in this tab's own store.

const store = window.sessionStorage;
const WAITING = "enstruct-waiting";
const PATIENCE = [0, 100, 300]; // milliseconds until a tab that is loaded again has let go of its name
let by = store.getItem("enstruct-by") ?? newName();

// A tab that was duplicated has the first one's name in its store: each holds a lock on its own.
export async function identify() {
  const isOurs = () => new Promise((answer) => {
    navigator.locks.request(`enstruct-${by}`, { ifAvailable: true }, (lock) => { answer(lock !== null); return lock === null ? undefined : new Promise(() => undefined); });
  });
  let ours = !navigator.locks;
  for (const pause of ours ? [] : PATIENCE) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    ours = await isOurs();
    if (ours) break;
  }
  if (!ours) { by = newName(); await isOurs(); }
  store.setItem("enstruct-by", by);
}

export function newName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (one) => one.toString(16).padStart(2, "0")).join("");
}

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export class Unreachable extends Error {}

async function request(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let response;
  const gone = () => new Unreachable("The server does not answer: load this page again once it is back.");
  try { response = await fetch(path, options); } catch { throw gone(); }
  let content = null, whole = true;
  try { content = await response.json(); } catch { whole = false; } // of a server that ended within its answer it is cut short
  if (!response.ok) throw new Refused(response.status, content?.error ?? `The server answered ${response.status}.`);
  if (!whole) throw gone();
  return content;
}

export const session = () => request("api/session");
export const nextRow = (after) => request(`api/next?by=${by}&after=${after}`).then((answer) => answer.row);
export const rowOf = (row) => request(`api/rows/${row}?by=${by}`);
export const answersOf = (row, read) => request(`api/rows/${row}/answers`, { read });
export const questionOf = (row, read) => request(`api/rows/${row}/question`, { read }).then((answer) => answer.ask);
export const progressOf = (row) => request(row === null ? "api/progress" : `api/progress?row=${row}`);
export const suspects = () => request("api/suspects").then((answer) => answer.suspects);

let waiting = JSON.parse(store.getItem(WAITING) ?? "[]");
let tail = Promise.resolve();

export const isWaiting = () => waiting.length > 0;

function remember() { store.setItem(WAITING, JSON.stringify(waiting)); }

const FINAL = [409, 413, 422, 507]; // the server's last word on an act; all else is tried again

// Sends acts one after another. A server that is not there is asked again until it is.
async function deliver(act, path, onWait) {
  for (let pause = 250; ; pause = Math.min(2 * pause, 4000)) {
    try {
      return await request(path, act);
    } catch (error) {
      if (error instanceof Refused && FINAL.includes(error.status)) throw error;
      onWait(error instanceof Refused && error.status === 403
        ? "The server was started anew, at another address. What you told is kept in this tab: start it on the port of this page (--port)."
        : "The server does not answer: your answers are kept here, and sent once it is back.");
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

function inTurn(act, path, onWait, isNew = true) {
  if (isNew) { waiting.push({ act, path }); remember(); }
  const sent = tail.then(() => deliver(act, path, onWait)).finally(() => {
    waiting = waiting.filter((one) => one.act.act !== act.act);
    remember();
  });
  tail = sent.catch(() => undefined);
  return sent;
}

export const tell = (row, cells, done, seen, onWait) =>
  inTurn({ act: newName(), by, row, cells, done, seen }, "api/acts", onWait);
export const undo = (onWait) => inTurn({ act: newName(), by }, "api/undo", onWait).then((answer) => answer.undone);

// What a page before a reload could not get through; the sentences by which some of it was refused.
export async function resend(onWait) {
  const refused = [];
  for (const { act, path } of [...waiting]) {
    try { await inTurn(act, path, onWait, false); } catch (error) { if (!(error instanceof Refused)) throw error; refused.push(error.message); }
  }
  return refused;
}
