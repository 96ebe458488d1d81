import { expect, test } from "vitest";
import { FINDINGS, inOrder, linkTo, published, statesOf } from "../src/pages/findings/chosen";
import { parse } from "../src/route";
import { estimate, finding } from "./samples";

const ALL = [
  finding("f1", { found_at: 1, params: { batch: 10 }, effect: estimate(1.1), assignee: "Ada" }),
  finding("f2", { found_at: 2, params: { batch: 9 }, effect: estimate(0.5), verdict: "better", machine: "m2" }),
  finding("f3", { found_at: 2, case: "bert", effect: estimate(1.3), suite: "weekly" }),
];
const PAGE = { findings: ALL, counts: {}, total: 3, facets: [], next: "", code: {} };
const ids = (query: { [name: string]: string }) =>
  inOrder(FINDINGS, published(FINDINGS, PAGE, query).rows, query).map(({ id }) => id);

test("people's work is shown unless the address says otherwise", () => {
  expect(statesOf({})).toEqual(["open", "acknowledged"]);
  expect(statesOf({ state: "ignored,open" })).toEqual(["open", "ignored"]);
  expect(statesOf({ state: "nonsense" })).toEqual(["open", "acknowledged"]);
});

test("the newest stands first, and those of one moment by their names", () => {
  expect(ids({})).toEqual(["f2", "f3", "f1"]);
  expect(ids({ sort: "found" })).toEqual(["f1", "f2", "f3"]);
  expect(ids({ sort: "nonsense" })).toEqual(["f1", "f2", "f3"]);
});

test("effects are as large upwards as downwards, and numbers in names are numbers", () => {
  expect(ids({ sort: "-effect" })).toEqual(["f2", "f3", "f1"]);
  expect(ids({ sort: "case" })).toEqual(["f3", "f2", "f1"]);
});

test("each filter narrows", () => {
  expect(ids({ verdict: "better" })).toEqual(["f2"]);
  expect(ids({ suite: "weekly" })).toEqual(["f3"]);
  expect(ids({ machine: "m2" })).toEqual(["f2"]);
  expect(ids({ assignee: "Ada" })).toEqual(["f1"]);
  expect(ids({ assignee: "-" })).toEqual(["f2", "f3"]);
  expect(ids({ words: "RESNET batch=10" })).toEqual(["f1"]);
  expect(ids({ words: "resnet nothing" })).toEqual([]);
});

test("a finding's address keeps the list it was opened from", () => {
  expect(parse(linkTo("f/1", { state: "open", words: "a b", other: "x" }))).toEqual({
    page: "findings",
    parts: ["f/1"],
    query: { state: "open", words: "a b" },
  });
});
