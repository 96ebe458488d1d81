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
  await expect(site.get("matrix")).rejects.toThrow("this was not published with the site");
});

test("what a file of a site puts is what its path gives", async () => {
  globalThis.benchwright_site = { put() {}, names: [], others: { "runs.R1": "runs.R1.abc" } };
  const site = await import("../src/api");
  globalThis.benchwright_site?.put("runs.R1.abc", { id: "R1" });
  expect(await site.get("runs/R1")).toEqual({ id: "R1" });
});
