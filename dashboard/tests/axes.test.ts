import { expect, test } from "vitest";
import { branchesOf, partsOf } from "../src/pages/series/branches";
import { byCommit, commitAxis, namesOf, placeName, rangeOf } from "../src/pages/series/commits";
import { linesOf } from "../src/pages/series/lines";
import { listed, unlisted } from "../src/route";
import { mark, seriesView } from "./samples";

// Measured in the order c2, c1, c2 again, and once without a commit; c1 is the older commit.
const late = seriesView(
  {},
  {
    at: [100, 200, 300, 400],
    point: [2, 1, 3, 4],
    low: [null, null, null, null],
    high: [null, null, null, null],
    run: [0, 1, 2, 3],
    runs: ["r0", "r1", "r2", "r3"],
    revision: [0, 1, 0, 2],
    revisions: ["c2", "c1", ""],
    committed: [90, 50, 400],
    result: [10, 11, 12, 13],
    rounds: [1, 1, 1, 1],
    branch: [0, 0, 0, 0],
    branches: ["main"],
    main: "main",
    marks: [mark(300, 1, 2)],
    notes: [{ id: 1, at: 250, text: "disk", who: "", everywhere: false, release: false }],
    releases: [
      { name: "v1", at: 200, revision: "c1" },
      { name: "shipped", at: 350, revision: "" },
    ],
  },
);

test("commits stand in the order of their dates, however late they were measured", () => {
  const axis = commitAxis([late]);
  expect(axis.keys).toEqual(["c1", "c2", "run r3"]);
  const placed = byCommit(late, axis);
  expect(placed.point).toEqual([1, 2, 3, 4]);
  expect(placed.at).toEqual([0, 1, 1.3, 2]);
  expect(placed.when).toEqual([200, 100, 300, 400]);
  expect(placed.result).toEqual([11, 10, 12, 13]);
  expect(placed.marks.map(({ at, until }) => [at, until])).toEqual([[1.3, 1.3]]);
  expect(placed.notes[0]?.at).toBe(1.3);
  expect(placed.releases.map(({ at }) => at)).toEqual([0, 2]);
});

test("commits of one second stand as they were measured, and two series share one order", () => {
  const view = (revisions: string[], at: number[]) =>
    seriesView({}, { at, revisions, revision: at.map((_, index) => index), committed: at.map(() => 7) });
  const axis = commitAxis([view(["b", "a"], [10, 20]), view(["c", "b"], [5, 10])]);
  expect(axis.keys).toEqual(["c", "b", "a"]);
});

test("what is in view is told by commits, and comes back", () => {
  const axis = commitAxis([late]);
  expect(namesOf(axis, [0.4, 2.6])).toEqual(["c2", "run r3"]);
  expect(namesOf(axis, [-5, 99])).toEqual(["c1", "run r3"]);
  expect(rangeOf(axis, "c2", "c2")).toEqual([0.5, 2.1]);
  expect(rangeOf(axis, "c2", "gone")).toBeNull();
  expect(rangeOf(axis, "", "")).toBeNull();
  expect(namesOf(axis, rangeOf(axis, "c1", "c2")!)).toEqual(["c1", "c2"]);
  expect([0, 0.5, 2, 9].map((x) => placeName(axis, x))).toEqual(["c1", "", "r3", ""]);
});

const branched = seriesView(
  {},
  {
    at: [1, 2, 3, 4],
    point: [1, 2, 3, 4],
    low: [0, 0, 0, 0],
    high: [9, 9, 9, 9],
    branch: [0, 1, 2, 3],
    branches: ["main", "topic", "", "other"],
    main: "main",
  },
);

test("the main line stands in front, what is chosen beside it, the others pale behind", () => {
  expect(partsOf(branched, [], true)).toEqual([
    { branch: undefined, places: [1, 3] },
    { branch: "", places: [0, 2] },
  ]);
  expect(partsOf(branched, ["topic", "gone"], false)).toEqual([
    { branch: "topic", places: [1] },
    { branch: "", places: [0, 2] },
  ]);
  expect(partsOf(seriesView({}, { branches: ["main", ""], main: "main" }), ["x"], true)).toEqual([
    { branch: "", places: null },
  ]);
  const lines = linesOf([branched], false, ["topic"], true);
  expect(lines.map(({ label, pale, at }) => [label, pale ?? false, at])).toEqual([
    ["resnet latency_p50, other branches", true, [4]],
    ["resnet latency_p50, topic", false, [2]],
    ["resnet latency_p50", false, [1, 3]],
  ]);
  expect(lines[0]?.low).toBeUndefined(); // intervals of what is behind would hide what is in front
  expect(branchesOf([branched])).toEqual([
    { name: "other", points: 1, last: 4 },
    { name: "topic", points: 1, last: 2 },
  ]);
});

test("several values in one parameter come back", () => {
  for (const values of [[], ["a"], ["a,b", "c%2C", "ü="]]) expect(unlisted(listed(values))).toEqual(values);
  expect(unlisted(undefined)).toEqual([]);
});
