import type uPlot from "uplot";
import { describe, expect, test } from "vitest";
import { type ChartLine, ends, firstFrom, merged, scaleOf } from "../src/parts/chart/data";
import { moved, zoomed } from "../src/parts/chart/gestures";

const line = (at: number[], point: (number | null)[], more: Partial<ChartLine> = {}): ChartLine => ({
  label: "",
  unit: "s",
  at,
  point,
  ...more,
});

test("one line is drawn as it is", () => {
  const { columns, index } = merged([line([1, 2], [5, 6])]);
  expect(columns).toEqual([
    [1, 2],
    [5, 6],
  ]);
  expect(index).toBeNull();
});

test("lines are merged in order, and points at one place stay two", () => {
  const { columns, index } = merged([line([1, 3], [10, 30]), line([1, 2], [11, null])]);
  expect(columns).toEqual([
    [1, 1, 2, 3],
    [10, null, null, 30],
    [null, 11, null, null],
  ]);
  expect([...(index ?? [])]).toEqual([0, 0, 1, 1]);
});

test("the ends of what is in view", () => {
  const lines = [line([0, 1, 2, 3], [9, 2, null, 4], { low: [8, 1, null, null], high: [10, 3, null, null] })];
  expect(ends(lines, false, 1, 3)).toEqual([2, 4]);
  expect(ends(lines, true, 1, 3)).toEqual([1, 4]);
  expect(ends(lines, false, 2, 2)).toBeNull();
  expect(ends(lines, false, 5, 9)).toBeNull();
});

test("the first place that is not before", () => {
  expect([-1, 0, 1, 2, 3, 9].map((wanted) => firstFrom([0, 2, 2, 3], wanted))).toEqual([0, 0, 1, 1, 3, 4]);
});

test("a second unit has the scale at the right", () => {
  expect(scaleOf(line([], [], { right: true }))).toBe("y2");
  expect(scaleOf(line([], []))).toBe("y");
});

describe("what is in view", () => {
  // as much of a plot as the mathematics reads
  const plot = (min: number, max: number) =>
    ({ scales: { x: { min, max } }, data: [[0, 50, 100]] }) as unknown as uPlot;

  test("zooming keeps the place under the pointer", () => {
    expect(zoomed(plot(20, 60), 0.25, 0.5)).toEqual([25, 45]);
    expect(zoomed(plot(20, 60), 0, 0.5)).toEqual([20, 40]);
    expect(zoomed(plot(20, 60), 1, 0.5)).toEqual([40, 60]);
  });

  test("zooming ends at the data", () => {
    expect(zoomed(plot(20, 60), 0.5, 10)).toEqual([0, 100]);
    expect(zoomed(plot(0, 40), 1, 2)).toEqual([0, 80]);
    const [from, to] = zoomed(plot(50, 50.0001), 0.5, 1e-9);
    expect(to - from).toBeCloseTo(1e-4, 9);
  });

  test("moving keeps the span and ends at the data", () => {
    expect(moved(plot(20, 60), 0.5)).toEqual([40, 80]);
    expect(moved(plot(20, 60), -0.25)).toEqual([10, 50]);
    expect(moved(plot(20, 60), 5)).toEqual([60, 100]);
    expect(moved(plot(20, 60), -5)).toEqual([0, 40]);
  });
});
