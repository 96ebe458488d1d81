import { expect, test } from "vitest";
import { axesOf, drawable, look, spotsOf, upperFirst, withRoom } from "../src/pages/runs/racefront";
import type { Better, RaceCellLine, RaceMetric, RaceView } from "../src/shapes";
import { estimate } from "./samples";

function metric(name: string, better: Better | null): RaceMetric {
  return { name, title: name, unit: "", better, is_goal: name === "throughput" };
}

function cell(number: number, values: { [name: string]: number }, part: Partial<RaceCellLine> = {}): RaceCellLine {
  return {
    number,
    label: `batch_size=${number}`,
    brief: String(number),
    settings: {},
    state: "left",
    reason: "worse",
    why: "",
    processes: 1,
    first: 0,
    last: 0,
    values: Object.fromEntries(Object.entries(values).map(([name, point]) => [name, estimate(point)])),
    breaches: [],
    command: [],
    result: "",
    ...part,
  };
}

function race(cells: RaceCellLine[]): RaceView {
  return {
    question: "",
    effort: "",
    surety: "",
    no_winner: [],
    unsettled: "",
    winner: null,
    front: [],
    alike: [],
    axes: ["batch_size"],
    metrics: [metric("throughput", "higher"), metric("p99", "lower"), metric("cost", "lower"), metric("load", null)],
    blocks: 1,
    cells,
    unmeasured: [],
  };
}

const CELLS = [
  cell(1, { throughput: 10, p99: 1, cost: 3, load: 1 }),
  cell(2, { throughput: 20, p99: 2, load: 1 }),
  cell(3, { throughput: 15, p99: 3, load: 1 }), // 2 is better in both
  cell(4, { throughput: 20, p99: 2, load: 1 }), // as good as 2
  cell(5, {}), // failed
];

test("a race is drawn by metrics that have a direction and at least two values", () => {
  expect(drawable(race(CELLS)).map(({ name }) => name)).toEqual(["throughput", "p99"]);
  expect(axesOf(race(CELLS.slice(0, 1)))).toBeNull();
});

test("the goal stands upward unless something else was asked for, and never twice", () => {
  const names = (across?: string, up?: string) => {
    const axes = axesOf(race(CELLS), across, up)!;
    return [axes.across.name, axes.up.name];
  };
  expect(names()).toEqual(["p99", "throughput"]);
  expect(names("throughput", "p99")).toEqual(["throughput", "p99"]);
  expect(names("throughput")).toEqual(["throughput", "p99"]);
  expect(names("p99", "p99")).toEqual(["throughput", "p99"]);
  expect(names("load", "nothing")).toEqual(["p99", "throughput"]);
});

test("of the front no other is better in one metric and no worse in the other", () => {
  const all = race(CELLS);
  const spots = spotsOf(all, axesOf(all)!);
  expect(spots.map(({ cell: { number }, isFront }) => [number, isFront])).toEqual([
    [1, true],
    [2, true],
    [3, false],
    [4, true],
  ]);
});

test("names that would run into each other are left out", () => {
  const all = race(CELLS);
  const spots = spotsOf(all, axesOf(all)!);
  const shown = withRoom(spots, ({ cell: { number } }) => [number * 10, number === 4 ? 100 : 0]);
  expect(shown.map(({ cell: { number } }) => number)).toEqual([1, 4]);
});

test("how a cell stands is said in a word", () => {
  expect(look(cell(1, {}, { state: "leads", reason: "" })).word).toBe("winner");
  expect(look(cell(1, {}, { reason: "bound" })).word).toBe("breaks an objective");
  expect(look(cell(1, {}, { reason: "unheard of" }))).toEqual({ word: "unheard of", tone: 7 });
});

test("a line begins with a capital, but a percentile keeps its name", () => {
  expect([upperFirst("throughput"), upperFirst("p99"), upperFirst("peak memory")]).toEqual([
    "Throughput",
    "p99",
    "Peak memory",
  ]);
});
