// Requests. The token comes in the fragment of the address, which is never sent, and goes as a header.

import { byId } from "./dom.js";
import { inOrder } from "./turns.js";

const GONE = "The server is gone. What you did last is kept here and sent when it is back: start linkwise label again.";

// Other fragments, such as that of the link to the question, are no tokens.
const given = location.hash.slice(1);
const token = /^[\w-]{43,}$/.test(given) ? given : sessionStorage.getItem("linkwise-token") ?? "";
sessionStorage.setItem("linkwise-token", token); // for a reload of this tab alone
history.replaceState(null, "", location.pathname);

const hex = (n) => [...crypto.getRandomValues(new Uint8Array(n))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
// The same after a reload, so that the pair is the same.
export const client = sessionStorage.getItem("linkwise-client") ?? hex(8);
sessionStorage.setItem("linkwise-client", client);

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const headers = { Authorization: `Bearer ${token}` };

export function banner(text) {
  const node = byId("banner");
  node.textContent = text;
  node.hidden = text === "";
}

export class Refused extends Error {
  constructor(status, body) {
    super(body.error ?? `The server answered ${status}.`);
    this.status = status;
    this.body = body;
  }
}

// What a person did is kept until the server takes it; what is only looked at is asked for once.
async function request(path, options, isKept) {
  for (let pause = 100; ; pause = Math.min(2 * pause, 2000)) {
    let answer = null;
    try {
      answer = await fetch(`/api/${path}`, { cache: "no-store", ...options });
    } catch {
      banner(GONE);
      if (!isKept) throw new Refused(0, { error: GONE });
      await wait(pause);
      continue;
    }
    if (byId("banner").textContent === GONE) banner("");
    if (answer.ok) return answer;
    const body = await answer.json().catch(() => ({}));
    if (answer.status === 401) banner("The token is wrong: open the address that linkwise label has printed.");
    throw new Refused(answer.status, body);
  }
}

export const get = (path) => request(path, { headers }, false);
export const getJSON = async (path) => (await get(path)).json();
export const getState = async () => (await request(`state?client=${client}`, { headers }, true)).json();

// Changes have a number of their own, so that one that is sent twice counts once. It begins with the name of
// this page. They are sent in the order in which they were made, one after the other.
const queue = inOrder();
export function post(path, values = {}) {
  const who = byId("who").value.trim();
  const body = JSON.stringify({ client, attempt: `${client}-${hex(16)}`, ...(who ? { who } : {}), ...values });
  return queue(async () => {
    const answer = await request(path, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body }, true);
    banner(""); // what could not be stored before can be now
    return answer.json();
  });
}

// Calls onNews for every message, for ever; after a break it goes on by itself, and says so with the first one.
export async function follow(onNews) {
  let isBack = false;
  for (let pause = 100; ; pause = Math.min(2 * pause, 2000)) {
    try {
      const answer = await fetch(`/api/events?client=${client}`, { headers, cache: "no-store" });
      if (answer.status === 401) return;
      if (!answer.ok) throw new Refused(answer.status, {});
      pause = 100;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          if (!part.startsWith("data: ")) continue;
          onNews(JSON.parse(part.slice(6)), isBack);
          isBack = false;
        }
      }
    } catch { /* the server is gone for a while */ }
    isBack = true;
    await wait(pause);
  }
}

const pictures = new Map();
export function picture(row) {
  if (!pictures.has(row)) {
    if (pictures.size >= 60) {
      const [oldest, address] = pictures.entries().next().value;
      pictures.delete(oldest);
      address.then((url) => url && URL.revokeObjectURL(url));
    }
    pictures.set(row, get(`pictures/${row}`).then((answer) => answer.blob()).then((blob) => URL.createObjectURL(blob)).catch((error) => {
      if (error.status !== 404) pictures.delete(row); // it may come the next time
      return null;
    }));
  }
  return pictures.get(row);
}

export async function download(name) {
  const blob = await (await get(`export/${name}`)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
