import { describe, expect, test } from "vitest";
import { logTicks, plain, scale } from "../src/parts/scale";

const RANGES: [number, number][] = [
  [0, 1],
  [0.0183, 0.0186],
  [-5, 12],
  [1e-9, 3],
  [999, 1001],
];

describe.each(RANGES)("from %d to %d", (low, high) => {
  test.each([false, true])("a place leads back to its value (logarithmic: %s)", (log) => {
    const axis = scale(low, high, { log });
    for (const share of [0, 0.25, 0.5, 1]) expect(axis.place(axis.value(share))).toBeCloseTo(share, 9);
    expect(axis.value(0)).toBeCloseTo(low, 12);
    expect(axis.value(1)).toBeCloseTo(high, 12);
  });

  test.each([false, true])("ticks lie inside and rise (logarithmic: %s)", (log) => {
    const { ticks } = scale(low, high, { log });
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks.length).toBeLessThan(12);
    for (const tick of ticks) {
      expect(tick).toBeGreaterThanOrEqual(low - 1e-9 * (high - low));
      expect(tick).toBeLessThanOrEqual(high + 1e-9 * (high - low));
    }
    expect(ticks).toEqual([...new Set(ticks)].sort((a, b) => a - b));
  });
});

test("steps are 1, 2 or 5", () => {
  expect(scale(0, 10).ticks).toEqual([0, 2, 4, 6, 8, 10]);
  expect(scale(0, 100, { count: 10 }).ticks).toHaveLength(11);
  expect(scale(-10, -2).ticks).toEqual([-10, -8, -6, -4, -2]);
  expect(scale(0, 23).ticks).toEqual([0, 5, 10, 15, 20]);
});

test("one value has room around it", () => {
  const axis = scale(4, 4);
  expect(axis.low).toBeLessThan(4);
  expect(axis.high).toBeGreaterThan(4);
  expect(axis.place(4)).toBeCloseTo(0.5);
  expect(scale(0, 0).high).toBeGreaterThan(0);
});

test("what is not above zero has no logarithm", () => {
  expect(scale(0, 10, { log: true }).log).toBe(false);
  expect(scale(1, 10, { log: true }).place(0)).toBe(-1);
});

test("decades have 2 and 5 between them where there is room", () => {
  expect(logTicks(1, 100, 5)).toEqual([1, 2, 5, 10, 20, 50, 100]);
  expect(logTicks(1, 1e5, 5)).toEqual([1, 10, 100, 1000, 10_000, 100_000]);
  expect(logTicks(1, 1e10, 5)).toEqual([1, 100, 10_000, 1e6, 1e8, 1e10]);
  expect(logTicks(10, 20, 5)).toEqual([10, 12, 14, 16, 18, 20]);
});

test.each([
  ["10.0 ms", "10 ms"],
  ["1.50 s", "1.5 s"],
  ["1.05 s", "1.05 s"],
  ["100 µs", "100 µs"],
  ["1,000 s", "1,000 s"],
])("%s is written %s", (text, shorter) => {
  expect(plain(text)).toBe(shorter);
});
