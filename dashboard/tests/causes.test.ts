import { expect, test } from "vitest";
import { causeEntry, causeHref, causeName } from "../src/parts/cause";
import { CAUSES, current, inOrder, isEach, linkTo, onlyOf, published } from "../src/pages/findings/chosen";
import { cause, finding } from "./samples";

const BAD = {
  revision: "c0ffee1234567",
  probability: 0.9,
  subject: "Copy every input",
  author: "Ada",
  effect: null,
  pull_request: 0,
};
const ALL = [
  cause("cause-a", { newest_at: 1, findings: 300, series: 300, largest: 1.4, culprit: BAD, better: 5 }),
  cause("cause-b", {
    newest_at: 3,
    machines: { m2: "phone" },
    assignees: ["Ada"],
    lead: finding("f2", { case: "bert" }),
  }),
  cause("cause-c", { newest_at: 2, worse: 0, better: 1, suites: ["weekly"], largest: 2, state: "acknowledged" }),
];
const PAGE = { causes: ALL, total: 3, findings: 302, counts: {}, facets: [], next: "", code: {} };
const listOf = (query: { [name: string]: string }) => published(CAUSES, PAGE, query);
const ids = (query: { [name: string]: string }) => inOrder(CAUSES, listOf(query).rows, query).map(({ id }) => id);

test("a cause is called by its commit, one finding by its case", () => {
  expect(ALL.map(causeName)).toEqual(["Copy every input", "bert", "resnet"]);
  expect(causeName(cause("x", { findings: 2, culprit: { ...BAD, subject: "" } }))).toBe("Commit c0ffee1234");
  expect(causeName(cause("x", { findings: 2 }))).toBe("Change at run r");
});

test("one finding alone is shown as itself", () => {
  expect(ALL.map(causeEntry)).toEqual(["cause-a", "f2", "f1"]);
  expect(causeHref(ALL[0]!, { state: "open" })).toBe("#/findings/cause-a?state=open");
});

test("the one that was joined last stands first, and the address may say otherwise", () => {
  expect(ids({})).toEqual(["cause-b", "cause-c", "cause-a"]);
  expect(ids({ sort: "-effect" })).toEqual(["cause-c", "cause-a", "cause-b"]);
  expect(ids({ sort: "-series" })[0]).toBe("cause-a");
});

test("each filter narrows", () => {
  expect(ids({ verdict: "better" })).toEqual(["cause-c", "cause-a"]);
  expect(ids({ verdict: "worse" })).toEqual(["cause-b", "cause-a"]);
  expect(ids({ suite: "weekly" })).toEqual(["cause-c"]);
  expect(ids({ machine: "m2" })).toEqual(["cause-b"]);
  expect(ids({ assignee: "-" })).toEqual(["cause-c", "cause-a"]);
  expect(ids({ words: "copy ADA" })).toEqual(["cause-a"]);
  expect(ids({ words: "c0ffee12" })).toEqual(["cause-a"]);
});

test("a published site counts by itself what each choice would leave", () => {
  const counts = (name: string, query: { [name: string]: string }) =>
    listOf(query)
      .facets.find((one) => one.name === name)!
      .values.map(({ label, count }) => `${label} ${count}`);
  expect(counts("machine", {})).toEqual(["lab 2", "phone 1"]);
  expect(counts("machine", { machines: "m2" })).toEqual(["lab 2", "phone 1"]);
  expect(counts("verdict", { machines: "m2" })).toEqual(["worse 1"]);
  expect(listOf({ machines: "m2" })).toMatchObject({ total: 1, findings: 1 });
});

test("what is done with a narrowed list is done with what it shows", () => {
  expect(onlyOf({ state: "open", machines: "m2", words: "x" })).toEqual({ states: ["open"], machines: ["m2"] });
  expect(onlyOf({ machine: "a,b" })).toEqual({ states: ["open", "acknowledged"], machines: ["a,b"] });
  expect(current({ machine: "a,b" })).toEqual({ machines: "a%2Cb" });
});

test("links keep whether each finding has a row", () => {
  expect(isEach({ each: "yes" })).toBe(true);
  expect(linkTo("f1", { each: "yes", open: "x" })).toBe("#/findings/f1?each=yes");
});
