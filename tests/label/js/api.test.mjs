import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder, oneAtATime } from "../../../src/linkwise/label/static/turns.js";

const TOKEN = "t".repeat(43);
const nodes = { banner: { textContent: "", hidden: true }, who: { value: "" } };
const kept = new Map([["linkwise-token", TOKEN]]);
globalThis.document = { getElementById: (id) => nodes[id] };
globalThis.sessionStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
globalThis.location = { hash: "#main", pathname: "/" };
globalThis.history = { replaceState: () => {} };

const api = await import("../../../src/linkwise/label/static/api.js");
const { getJSON, getState, post, Refused } = api;
const pass = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A server that is gone at first, and what it was sent.
function serve(nGone, answers = {}) {
  const sent = [];
  let n = 0;
  globalThis.fetch = async (path, options) => {
    n += 1;
    if (n <= nGone) throw new TypeError("refused");
    sent.push([path, options]);
    const [status, body] = answers[path] ?? [200, { path }];
    return new Response(JSON.stringify(body), { status });
  };
  return { sent, tried: () => n };
}

test("a fragment that is no token leaves the token of before", async () => {
  const { sent } = serve(0);
  await getJSON("clusters");
  assert.equal(sent[0][1].headers.Authorization, `Bearer ${TOKEN}`);
  assert.equal(kept.get("linkwise-token"), TOKEN);
});

test("an undo waits for the answer that is sent again and again", async () => {
  const { sent } = serve(3);
  const answered = post("answer", { answer: "same" });
  await pass(150);
  const undone = post("undo");
  await Promise.all([answered, undone]);
  assert.deepEqual(sent.map(([path]) => path), ["/api/answer", "/api/undo"]);
  const attempts = sent.map(([, options]) => JSON.parse(options.body).attempt);
  assert.notEqual(attempts[0], attempts[1]);
  for (const attempt of attempts) assert.ok(attempt.startsWith(`${api.client}-`));
});

test("a change that is refused does not hold the next one up", async () => {
  serve(0, { "/api/answer": [409, { error: "late" }] });
  await assert.rejects(post("answer"), Refused);
  assert.deepEqual(await post("undo"), { path: "/api/undo" });
});

test("what is only looked at is not asked for again, the state is", async () => {
  const gone = serve(1);
  await assert.rejects(getJSON("rows/3"), (error) => error.status === 0);
  assert.equal(gone.tried(), 1);
  assert.match(nodes.banner.textContent, /server is gone/);
  const back = serve(1);
  await getState();
  assert.equal(back.tried(), 2);
  assert.equal(nodes.banner.textContent, "");
});

test("that the log cannot be written stays in sight until it can", async () => {
  serve(0);
  api.banner("The log cannot be written.");
  await getJSON("clusters");
  await getState();
  assert.equal(nodes.banner.textContent, "The log cannot be written.");
  await post("fit");
  assert.equal(nodes.banner.textContent, "");
});

test("a stream that is refused is asked for less and less often", async () => {
  const { sent } = serve(0, { [`/api/events?client=${api.client}`]: [500, { error: "no" }] });
  api.follow(() => assert.fail("there are no news"));
  await pass(1000);
  serve(0, { [`/api/events?client=${api.client}`]: [401, {}] }); // which ends it
  assert.ok(sent.length <= 5, `${sent.length} requests`);
});

test("work is done in order, and once more if it was wanted meanwhile", async () => {
  const done = [];
  const queue = inOrder();
  await Promise.all([queue(() => pass(20).then(() => done.push(1))), queue(() => done.push(2))]);
  assert.deepEqual(done, [1, 2]);
  let nNow = 0;
  let nDone = 0;
  const draw = oneAtATime(async () => {
    nNow += 1;
    assert.equal(nNow, 1);
    await pass(10);
    nNow -= 1;
    nDone += 1;
  });
  await Promise.all([draw(), draw(), draw()]);
  assert.equal(nDone, 2);
  await draw();
  assert.equal(nDone, 3);
});
