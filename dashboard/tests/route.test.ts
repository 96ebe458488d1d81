import { expect, test } from "vitest";
import { href, parse } from "../src/route";

test("an address without a page is the overview", () => {
  for (const hash of ["", "#", "#/"]) expect(parse(hash)).toEqual({ page: "overview", parts: [], query: {} });
});

test.each([
  ["series", ["a/b?c#d é%2F"], { log: "1", words: "x & y=z" }],
  ["runs", [], { a: "run:1+2" }],
  ["findings", ["f 1", ""], {}],
] as const)("what %s was given comes back", (page, parts, query) => {
  expect(parse(href(page, parts, query))).toEqual({ page, parts, query });
});

test("what is empty is left out", () => {
  expect(href("runs", [], { a: "", b: undefined, c: "0" })).toBe("#/runs?c=0");
  expect(href("runs")).toBe("#/runs");
});

test("a part that is badly encoded stays as it is", () => {
  expect(parse("#/runs/%E0%A4%A").parts).toEqual(["%E0%A4%A"]);
});
