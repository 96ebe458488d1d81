import { expect, test } from "vitest";
import { columnMean, heatScale, nameOf } from "../src/pages/matrix/heat";
import { shortened } from "../src/parts/front";
import { matrix } from "./samples";

test("without a base a cell is as strong as its logarithm", () => {
  const all = matrix("lower", ["a", "b", "c"], [1, 10, 100]);
  const heat = heatScale(all, null);
  expect(all.cells.map((cell) => heat.of(cell).strength)).toEqual([0.08, 0.54, 1].map((of) => expect.closeTo(of, 9)));
  expect(heat.legend).toHaveLength(7);
  expect([heat.legend[0]?.words, heat.legend.at(-1)?.words]).toEqual(["1.00 s", "100 s"]);
  expect(heatScale(matrix("lower", ["a"], [5]), null).legend.map(({ words }) => words)).toEqual(["5.00 s"]);
});

test.each([
  ["lower", ["plain", "worse", "better"]],
  ["higher", ["plain", "better", "worse"]],
  ["", ["plain", "above", "below"]],
])("beside a column, when %j is better", (better, tones) => {
  const all = matrix(better, ["a", "b", "c"], [2, 4, 1]);
  const heat = heatScale(all, { column: "a" });
  expect(all.cells.map((cell) => heat.shown(cell))).toEqual([1, 2, 0.5]);
  expect(all.cells.map((cell) => heat.of(cell).tone)).toEqual(tones);
  expect(all.cells.map((cell) => heat.of(cell).strength)).toEqual([0, 1, 1]);
});

test("the best of a row depends on what is better", () => {
  const [low, high] = [matrix("lower", ["a", "b"], [2, 4]), matrix("higher", ["a", "b"], [2, 4])];
  expect(low.cells.map(heatScale(low, "best").shown)).toEqual([1, 2]);
  expect(high.cells.map(heatScale(high, "best").shown)).toEqual([0.5, 1]);
});

test("a few per cent stay pale, and a cell without a base has no ratio", () => {
  const all = matrix("lower", ["a", "b"], [1, 1.02], [null, 3], [0, 1]);
  const heat = heatScale(all, { column: "a" });
  expect(heat.of(all.cells[1]!).strength).toBeLessThan(0.1);
  expect(all.cells.map(heat.shown)).toEqual([1, 1.02, null, null, null]);
});

test("a column's mean is geometric, over the rows that have a ratio", () => {
  const all = matrix("lower", ["a", "b"], [1, 2], [1, 8], [null, 5]);
  const heat = heatScale(all, { column: "a" });
  expect(columnMean(all, heat, 1)).toEqual({ mean: expect.closeTo(4, 9), rows: 2 });
  expect(columnMean(all, heat, 7)).toBeNull();
});

test("what cases lack has a name", () => {
  expect([nameOf("-", "batch"), nameOf("8", "batch")]).toEqual(["no batch", "8"]);
});

test("by row, each row goes from pale to strong whatever the others hold", () => {
  const all = matrix("lower", ["a", "b"], [1, 10], [1000, 2000]);
  const heat = heatScale(all, null, "row");
  expect(all.cells.map((cell) => heat.of(cell).strength)).toEqual(
    [0.08, 1, 0.08, 1].map((of) => expect.closeTo(of, 9)),
  );
  const columns = heatScale(all, null, "column");
  expect(all.cells.map((cell) => columns.of(cell).strength)).toEqual(
    [0.08, 0.08, 1, 1].map((of) => expect.closeTo(of, 9)),
  );
  expect(heat.legend.map(({ words }) => words)).toEqual(["lowest of its row", "highest of its row"]);
});

test("a row of nearly equal values stays pale", () => {
  const all = matrix("lower", ["a", "b"], [100, 101], [1, 1.25]);
  const strengths = all.cells.map((cell) => heatScale(all, null, "row").of(cell).strength);
  expect(strengths[1]).toBeLessThan(0.15);
  expect(strengths[3]).toBeCloseTo(1, 9);
});

test("what was measured in quarantine is neither better nor worse, nor the best of its row", () => {
  const all = matrix("lower", ["a", "b", "c"], [2, 1, 4], [2, 1, 4]);
  all.cells[1] = { ...all.cells[1]!, is_held: true };
  const best = heatScale(all, "best");
  expect(all.cells.map(best.shown)).toEqual([1, 0.5, 2, 2, 1, 4]);
  expect(all.cells.map((cell) => best.of(cell).tone)).toEqual(["plain", "plain", "worse", "worse", "plain", "worse"]);
  const beside = heatScale(all, { column: "b" });
  expect(all.cells.map((cell) => beside.of(cell).tone)).toEqual(["plain", "plain", "plain", "worse", "plain", "worse"]);
  expect(columnMean(all, best, 1)).toEqual({ mean: 1, rows: 1 });
});

test("a name in a picture keeps its last words", () => {
  const name = "Example Server 7, 32 cores runtime=openvino batch_size=8";
  expect(shortened(name, 80)).toBe(name);
  expect(shortened(name, 34)).toBe("… runtime=openvino batch_size=8");
  expect(shortened(name, 3)).toBe("… batch_size=8");
});
