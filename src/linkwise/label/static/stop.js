// The card in the corner: is it enough, and how to take the results along.

import { download, Refused } from "./api.js";
import { byId, counted, el, fill, percent } from "./dom.js";
import { keyButton } from "./keys.js";

const FILES = ["pairs.csv", "labels.csv", "clusters.csv", "model.linkwise", "report.html", "log.jsonl"];

export function drawStop(state, onError) {
  const { status } = state;
  const light = status.enough ? "enough" : status.trust !== null && status.trust > 0.8 ? "nearly" : "go-on";
  const [sign, word] = { enough: ["✔", "Enough"], nearly: ["◐", "Nearly"], "go-on": ["○", "Go on"] }[light];
  const [right, all] = status.check;
  const numbers = [
    ["change of the last clusters", percent(status.change)],
    ["answers that were expected", percent(status.trust)],
    ["what follows holds", percent(status.held)],
    ["random checks foretold", all ? `${right} of ${all}, at least ${percent(state.check_least)}` : "none yet"],
  ];
  const isOpen = byId("stop").querySelector("details")?.open ?? matchMedia("(min-width: 60em)").matches;
  fill(byId("stop"), el("details", { class: light, open: isOpen },
    el("summary", { "data-key": "stop" }, el("span", { class: "light", "aria-hidden": "true" }, sign), el("b", {}, word), ` · ${counted(status.n_answers, "answer")}`),
    el("p", {}, status.sentence),
    el("dl", {}, numbers.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("p", { class: "buttons small" }, keyButton("fit")),
    el("p", {}, "Take along:"),
    el("p", { class: "buttons small" }, FILES.map((name) => el("button", { type: "button", "data-key": `take ${name}`, onclick: () => download(name).catch((error) => {
      if (!(error instanceof Refused)) throw error;
      onError(error.message);
    }) }, name)))));
}
