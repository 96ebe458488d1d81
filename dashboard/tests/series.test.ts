import { expect, test } from "vitest";
import { isDrift, levelsOf, linesOf, marksOf, shownAs, slopeOf } from "../src/pages/series/lines";
import { chiefMetrics } from "../src/parts/casetable";
import { priceReleases } from "../src/parts/prices";
import { mark, seriesView } from "./samples";

test("the address says how it is drawn", () => {
  const views = [seriesView({}), seriesView({ unit: "B" })];
  expect(shownAs(views, {})).toEqual({
    range: null,
    commits: false,
    each: false,
    branches: [],
    others: true,
    log: false,
    zero: false,
    band: true,
    relative: false,
    mustRelate: false,
  });
  expect(shownAs(views, { from: "5", to: "9", log: "1", band: "0", relative: "1" })).toMatchObject({
    range: [5, 9],
    log: true,
    band: false,
    relative: true,
  });
  expect(shownAs(views, { from: "9", to: "5" }).range).toBeNull();
  expect(shownAs(views.slice(0, 1), { relative: "1" }).relative).toBe(false);
});

test("more than two units have no axes of their own", () => {
  const views = ["s", "B", "W"].map((unit) => seriesView({ unit }));
  expect(shownAs(views, {})).toMatchObject({ relative: true, mustRelate: true });
});

test("lines are named by what tells them apart", () => {
  const labels = (...all: Parameters<typeof seriesView>[0][]) =>
    linesOf(
      all.map((one) => seriesView(one)),
      false,
    ).map(({ label }) => label);
  expect(labels({ params: { batch: 1 } }, { params: { batch: 8 } })).toEqual(["batch=1", "batch=8"]);
  expect(labels({ machine_name: "lab" }, { machine_name: "desk", case: "bert" })).toEqual(["resnet lab", "bert desk"]);
  expect(labels({})).toEqual(["resnet latency_p50"]);
  expect(labels({}, {})).toEqual(["resnet latency_p50", "resnet latency_p50"]);
});

test("the second unit stands at the right, or all are per cent of their first value", () => {
  const views = [
    seriesView({}, { at: [1, 2], point: [2, 3], low: [1, null], high: [3, 4] }),
    seriesView({ unit: "B" }, { at: [1], point: [5] }),
  ];
  expect(linesOf(views, false).map(({ right, unit }) => [right, unit])).toEqual([
    [false, "s"],
    [true, "B"],
  ]);
  expect(linesOf(views, true)[0]).toMatchObject({ unit: "%", point: [100, 150], low: [50, null], high: [150, 200] });
});

test("a mark tells the change and whether it came little by little", () => {
  const view = seriesView({}, { marks: [mark(5, 1, 1.12), mark(6, 1, 0.5, 9)] });
  expect(marksOf(view, "")).toMatchObject([
    { at: 5, label: "12 % slower", up: true, href: "#/findings/f5" },
    { at: 6, label: "50 % faster, drift", up: false },
  ]);
  expect(view.marks.map(isDrift)).toEqual([false, true]);
});

test("levels lie between the steps", () => {
  const found = levelsOf([mark(20, 2, 3), mark(10, 1, 2)], [0, 10, 20, 30]);
  expect(found.map(({ from, to, point }) => [from, to, point])).toEqual([
    [0, 10, 1],
    [10, 20, 2],
    [20, 30, 3],
  ]);
});

test("a drift rises by the same share each time, with the steps that lie on it", () => {
  const drift = mark(10, 1, 4, 30);
  expect(slopeOf(drift, [], [0, 10, 20, 30, 40]).map(({ from, to, point, end }) => [from, to, point, end])).toEqual([
    [10, 20, 1, 2],
    [20, 30, 2, 4],
  ]);
  expect(slopeOf(drift, [mark(20, 1, 3)], [10, 20, 30]).at(-1)?.end).toBe(12);
  const whole = levelsOf([drift, mark(20, 1, 3)], [0, 10, 20, 30, 40]);
  expect(whole.map(({ from, to, point }) => [from, to, point])).toEqual([
    [0, 10, 1],
    [10, 20, 3],
    [20, 30, 6],
    [30, 40, 12],
  ]);
});

test("a change of the price stands on the axis, and the first price does not", () => {
  const view = seriesView({});
  const prices = [
    { at: 1, run: "a", price: "on demand", factor: null },
    { at: 5, run: "b", price: "reserved", factor: 0.5 },
    { at: 9, run: "c", price: "in euros", factor: null },
  ];
  expect(priceReleases([{ ...view, prices }])).toEqual([
    { name: "price −50.0 %", at: 5, revision: "" },
    { name: "another price", at: 9, revision: "" },
  ]);
});

test("what the work costs is among the first columns of a run", () => {
  expect(chiefMetrics(["a", "b", "c", "d", "e", "cost_per_million", "cost_per_run"])).toEqual([
    "a",
    "b",
    "c",
    "d",
    "cost_per_million",
  ]);
  expect(chiefMetrics(["a", "cost_per_run"])).toEqual(["a", "cost_per_run"]);
});
