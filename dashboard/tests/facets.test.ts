import { expect, test } from "vitest";
import { facetsOf } from "../src/pages/series/list";
import { chosenOf, facetQuery, toggled } from "../src/parts/facets";
import { seriesLine } from "./samples";

test("a choice is kept in the address and taken back", () => {
  const once = toggled("machine", "a,b", {});
  expect(once).toEqual({ machines: "a%2Cb" });
  expect(chosenOf("machine", once)).toEqual(["a,b"]);
  expect(toggled("machine", "a,b", once)).toEqual({ machines: "" });
  const param = toggled("param.batch", "8", toggled("param.kind", "x=y", {}));
  expect(param).toEqual({ param: "kind%3Dx%3Dy,batch%3D8" });
  expect(chosenOf("param.kind", param)).toEqual(["x=y"]);
  expect(chosenOf("param.batch", param)).toEqual(["8"]);
  expect(facetQuery({ ...param, machines: "m" })).toEqual({
    machines: ["m"],
    metrics: [],
    branch: [],
    tags: [],
    param: ["kind=x=y", "batch=8"],
  });
});

test("a published site counts by itself what each choice would leave", () => {
  const lines = [
    seriesLine({ metric: "p50", params: { batch: 1 } }),
    seriesLine({ metric: "p99", params: { batch: 1 } }),
    seriesLine({ metric: "p50", params: { batch: 8 }, machine: "m2", machine_name: "desk" }),
  ];
  const counts = (query: { [name: string]: string }) =>
    Object.fromEntries(
      facetsOf(lines, query).map(({ name, values }) => [name, values.map(({ label, count }) => `${label} ${count}`)]),
    );
  expect(counts({})).toEqual({
    metric: ["p50 2", "p99 1"],
    machine: ["lab 2", "desk 1"],
    "param.batch": ["1 2", "8 1"],
  });
  expect(counts(toggled("param.batch", "8", {}))).toEqual({
    metric: ["p50 1", "p99 0"],
    machine: ["desk 1", "lab 0"],
    "param.batch": ["1 2", "8 1"],
  });
});
