import { expect, test } from "vitest";
import { beyond, callsAt, densities, quantile, reach, shareBelow } from "../src/parts/spread";
import type { Distribution } from "../src/shapes";

const calls: Distribution = {
  column: "latency",
  unit: "s",
  count: 10,
  edges: [1, 2, 3, 4, 20],
  counts: [4, 3, 2, 1],
  quantiles: [
    [0, 1],
    [0.5, 2],
    [0.9, 4],
    [1, 20],
  ],
  over_time: [],
  of: "call",
};

test("shares and values lead to each other", () => {
  for (const share of [0, 0.1, 0.5, 0.7, 0.95]) expect(shareBelow(calls, quantile(calls, share))).toBeCloseTo(share, 9);
  expect(shareBelow(calls, 0.5)).toBe(0);
  expect(shareBelow(calls, 99)).toBe(1);
  expect(quantile(calls, 0.7)).toBeCloseTo(3);
  expect(quantile({ ...calls, quantiles: [] }, 0.5)).toBeNaN();
});

test("a bin holds its left end", () => {
  expect([0.5, 1, 1.9, 2, 19, 20].map((value) => callsAt(calls, value))).toEqual([0, 4, 4, 3, 1, 0]);
});

test.each([false, true])("densities add up to all calls (logarithmic: %s)", (log) => {
  const width = (from: number, to: number) => (log ? Math.log(to / from) : to - from);
  const all = densities(calls, log).reduce((sum, [from, to, density]) => sum + density * width(from, to), 0);
  expect(all).toBeCloseTo(1, 12);
});

test("a bin that begins at zero has no width on a logarithmic axis", () => {
  expect(densities({ ...calls, edges: [0, 1, 2, 3, 4] }, true).map(([from]) => from)).toEqual([1, 2, 3]);
});

test("the body ends where the last bin gathers what lies far out", () => {
  expect(reach([calls])).toEqual([1, 20]);
  expect(reach([calls], true)).toEqual([1, 4]);
  expect(reach([calls, { ...calls, edges: [0, 1, 2, 3, 4] }], true)).toEqual([0, 4]);
  expect(beyond(calls, 4)).toBe(1);
});
