import { afterEach, expect, test, vi } from "vitest";
import { address, fileName, isThere } from "../src/api";
import shared from "./shared/names.json";

afterEach(() => {
  globalThis.benchwright_site = undefined;
  vi.resetModules();
});

test.each(shared as [string[], { [name: string]: string }, string][])(
  "the file of %j with %j is called as the publisher calls it",
  (parts, query, name) => {
    expect(fileName(parts.map(encodeURIComponent).join("/"), query)).toBe(name);
  },
);

test("a server is asked relative to the page", () => {
  expect(address("runs/a%2Fb", { words: "x y", none: "", not: undefined })).toBe("api/v1/runs/a%2Fb?words=x+y");
  expect(address("runs", {})).toBe("api/v1/runs");
  expect(address("compare", { a: "1", b: ["2", "", "3"] })).toBe("api/v1/compare?a=1&b=2&b=3");
});

test("a server has everything", () => {
  expect(isThere("runs/anything")).toBe(true);
});

test("a site has what was published: lists whole, the rest by its name", async () => {
  globalThis.benchwright_site = { put() {}, names: ["runs", "runs.r1"], others: { "runs.R1": "runs.R1.abc" } };
  const site = await import("../src/api");
  expect(site.isStatic).toBe(true);
  expect([site.isThere("runs/r1"), site.isThere("runs/R1"), site.isThere("runs", { words: "x" })]).toEqual([
    true,
    true,
    true,
  ]);
  expect([site.isThere("runs/r2"), site.isThere("matrix"), site.isThere("series")]).toEqual([false, false, false]);
  await expect(site.get("matrix")).rejects.toThrow("not included in this published copy");
});

test("what a file of a site puts is what its path gives", async () => {
  globalThis.benchwright_site = { put() {}, names: [], others: { "runs.R1": "runs.R1.abc" } };
  const site = await import("../src/api");
  globalThis.benchwright_site?.put("runs.R1.abc", { id: "R1" });
  expect(await site.get("runs/R1")).toEqual({ id: "R1" });
});

test("a site tells what it can answer of a path", async () => {
  const names = ["compare.a_3drun_3a1.b_3drun_3a2", "compare.a_3dmachine_3ax.b_3dmachine_3ay_3d_c3_a9", "runs.r1"];
  globalThis.benchwright_site = { put() {}, names, others: {} };
  const site = await import("../src/api");
  expect(site.publishedQueries("compare")).toEqual([
    { a: "run:1", b: "run:2" },
    { a: "machine:x", b: "machine:y=é" },
  ]);
  const { leadsSomewhere } = await import("../src/parts/published");
  const there = ["#/runs/r1", "#/runs", "#/compare", "#/compare?a=run%3A1&b=run%3A2", "https://forge.example/c/1"];
  const lost = ["#/runs/r2", "#/results/9", "#/series/a,b", "#/compare?a=run%3A2&b=run%3A1", "#/live", "#/findings/f"];
  expect(there.map(leadsSomewhere)).toEqual(there.map(() => true));
  expect(lost.map(leadsSomewhere)).toEqual(lost.map(() => false));
});
