import { describe, expect, test } from "vitest";
import * as format from "../src/parts/format";
import { estimate } from "./samples";
import shared from "./shared/numbers.json";

describe("as the command line writes it", () => {
  test.each(shared.values as [number, string, number, string][])(
    "%d %s with %d digits is %s",
    (of, unit, digits, text) => {
      expect(format.value(of, unit, digits)).toBe(text);
    },
  );

  test.each(shared.probabilities as [number, string][])("a probability of %d is %s", (of, text) => {
    expect(format.probability(of)).toBe(text);
  });
});

test("what is not known is a dash", () => {
  for (const of of [null, undefined, Number.NaN, Infinity]) expect(format.value(of, "s")).toBe("–");
  expect(format.estimate(null, "s")).toBe("–");
  expect(format.change(Number.NaN, "s")).toBe("–");
  expect(format.date(0)).toBe("–");
});

test("a unit that is called like something of JavaScript's is a word", () => {
  expect(format.value(2, "constructor")).toBe("2.00 constructor");
  expect(format.change(1.5, "toString")).toBe("50 % higher");
});

test("an interval has the scale of its point", () => {
  expect(format.interval(estimate(0.0183, 0.0181, 0.0186), "s")).toBe("[18.1, 18.6]");
  expect(format.interval(estimate(0.9996, 0.9, 1.1), "s")).toBe("[0.900, 1.10]");
  expect(format.interval(estimate(0, 0, 0.000214), "s")).toBe("[0 s, 214 µs]");
  expect(format.interval(estimate(0.0183), "s")).toBe("");
});

test.each([
  [1.12, "s", "12 % slower"],
  [0.97, "s", "3 % faster"],
  [2.4, "s", "2.40 times as long"],
  [1.5, "B", "50 % more"],
  [0.5, "/s", "50 % lower"],
  [1, "s", "0 % slower"],
  [1.05, "points", "5 points more"],
  [1.0021, "points", "0.21 points more"],
  [2, "points", "100 points more"],
  [0.877, "points", "12.3 points less"],
] as const)("a ratio of %d in %s is %s", (ratio, unit, text) => {
  expect(format.change(ratio, unit)).toBe(text);
});

test("failed requests are told by points, other shares by ratio", () => {
  const unit = format.changeUnit({ metric: "errors", unit: "%" });
  expect(format.changeInterval(estimate(1.05, 1.041, 1.0592), unit)).toBe("[+4.1, +5.9]");
  expect(format.changeInterval(estimate(0.95, 0.94, 1.01), unit)).toBe("[−6, +1]");
  expect(format.changeUnit({ metric: "accuracy", unit: "%" })).toBe("%");
  expect(format.changeInterval(estimate(1.05, 1.041, 1.0592), "%")).toBe("[+4.1 %, +5.9 %]");
});

test("shares have their sign, and few digits", () => {
  expect(format.signed(0.12)).toBe("+12 %");
  expect(format.signed(-0.0312)).toBe("−3.1 %");
  expect(format.percent(0.0123)).toBe("1.2 %");
  expect(format.percent(12.345)).toBe("1,230 %");
  expect(format.changeInterval(estimate(1.1, 1.098, 1.14))).toBe("[+9.8 %, +14 %]");
});

test("things are counted", () => {
  expect([0, 1, 2, 12345].map((of) => format.count(of, "run"))).toEqual(["0 runs", "1 run", "2 runs", "12,345 runs"]);
  expect(format.count(2, "entry", "entries")).toBe("2 entries");
});

test("instants are where the reader is", () => {
  const at = new Date(2026, 0, 6, 7, 6).getTime();
  expect(format.date(at)).toBe("2026-01-06 07:06");
  expect(format.day(at)).toBe("2026-01-06");
});

test("how long ago", () => {
  const now = new Date(2026, 10, 16, 12).getTime();
  const said = [59, 60, 3599, 7200, 86_400, 30 * 86_400].map((seconds) => format.ago(now - 1000 * seconds, now));
  expect(said).toEqual(["just now", "1 minute ago", "59 minutes ago", "2 hours ago", "1 day ago", "30 days ago"]);
  expect(format.ago(new Date(2026, 9, 1).getTime(), now)).toBe("2026-10-01");
  expect(format.ago(new Date(2026, 10, 17).getTime(), now)).toBe("2026-11-17 00:00");
});

test("a stretch of time has two units", () => {
  expect([0.25, 75, 119.6, 3600, 7325].map(format.duration)).toEqual([
    "250 ms",
    "1 min 15 s",
    "2 min 0 s",
    "1 h 0 min",
    "2 h 2 min",
  ]);
});

test("a case is named with its params", () => {
  expect(format.caseLabel("resnet", { batch_size: 8, fused: true })).toBe("resnet batch_size=8 fused=true");
  expect(format.caseLabel("resnet")).toBe("resnet");
});
