import { expect, test } from "vitest";
import { asked, grouped, isChanged, narrowed } from "../src/pages/compare/narrow";
import { askedSides, namedSides, shortName, sidesOf } from "../src/pages/compare/sides";
import { comparedLine, comparison } from "./samples";

const LINES = [
  comparedLine("vision/a", { verdict: "worse", params: { batch: 8 } }),
  comparedLine("text/b", {}, "better"),
  comparedLine("vision/a", { metric: "rss_peak", verdict: "same" }),
];

test("a row is changed when any side is better or worse", () => {
  expect(LINES.map(isChanged)).toEqual([true, true, false]);
});

test("rows of a case stand together where the case first comes", () => {
  expect(grouped(LINES).map(([name, rows]) => [name, rows.length])).toEqual([
    ["vision/a", 2],
    ["text/b", 1],
  ]);
});

test("a published comparison is narrowed as a server does it", () => {
  const of = (query: { [name: string]: string }, part: "changed" | "rest" | "all") => {
    const { lines, found, fitting } = narrowed(comparison(LINES), query, part);
    return [lines.map((line) => `${line.case} ${line.metric}`), found, fitting];
  };
  expect(of({}, "changed")).toEqual([["vision/a latency_p50", "text/b latency_p50"], 2, 3]);
  expect(of({}, "rest")).toEqual([["vision/a rss_peak"], 1, 3]);
  expect(of({ words: "VISION 8" }, "changed")).toEqual([["vision/a latency_p50"], 1, 1]);
  expect(of({ metric: "rss_peak" }, "changed")).toEqual([[], 0, 1]);
  expect(of({ verdict: "better" }, "all")).toEqual([["text/b latency_p50"], 1, 1]);
  expect(of({}, "all")[0]).toEqual(["vision/a latency_p50", "vision/a rss_peak", "text/b latency_p50"]);
  expect(of({ group: "none" }, "all")[0]).toEqual(["vision/a latency_p50", "text/b latency_p50", "vision/a rss_peak"]);
});

test("a server is asked for the part, the order and the grouping of the address", () => {
  expect(asked({ words: "w", sort: "case" }, "rest")).toMatchObject({ words: "w", order: "case", changed: "false" });
  expect(asked({ group: "none" }, "all")).toMatchObject({ group: undefined, changed: undefined });
});

test("sides are a, b, c and so on in the address, and b several times for the server", () => {
  expect(sidesOf({})).toEqual(["", ""]);
  expect(sidesOf({ a: "run:1", c: "run:3" })).toEqual(["run:1", "", "run:3"]);
  expect(askedSides(["run:1", "run:2"])).toEqual({ a: "run:1", b: "run:2" });
  expect(askedSides(["run:1", "run:2", "run:3"])).toEqual({ a: "run:1", b: ["run:2", "run:3"] });
  expect(namedSides(["run:1", "run:2"])).toMatchObject({ a: "run:1", b: "run:2", c: undefined, h: undefined });
  expect([shortName(0, 2), shortName(1, 2), shortName(2, 3)]).toEqual(["before", "after", "C"]);
});
