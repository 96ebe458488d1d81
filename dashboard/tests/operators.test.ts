import { describe, expect, test } from "vitest";
import { changes, family, kindChanges, matched } from "../src/pages/compare/operatorchanges";
import { operator } from "./samples";
import shared from "./shared/operators.json";

const operators = (rows: string[][]) => rows.map(([name = "", kind = "", shapes = ""]) => operator(name, kind, shapes));

describe("as the command line has it", () => {
  test.each(shared.pairs)("$why", ({ before, after, matched: wanted }) => {
    const [a, b] = [operators(before), operators(after)];
    const place = (all: typeof a, one: (typeof a)[number] | undefined) => (one ? all.indexOf(one) : null);
    expect(matched(a, b).map(([x, y]) => [place(a, x), place(b, y)])).toEqual(wanted);
  });

  test.each(Object.entries(shared.families))("%j does %j", (kind, wanted) => {
    expect(family(kind)).toBe(wanted);
  });
});

test("the largest difference stands first, whatever its sign", () => {
  const before = [operator("a", "Conv", "", 3), operator("b", "Relu", "", 1), operator("gone", "Cast", "", 0.5)];
  const after = [operator("a", "Conv", "", 1), operator("b", "Relu", "", 2), operator("new", "Gemm", "", 0.25)];
  expect(
    changes(before, after).map(({ name, before, after, difference }) => [name, before, after, difference]),
  ).toEqual([
    ["a", 3, 1, -2],
    ["b", 1, 2, 1],
    ["gone", 0.5, null, -0.5],
    ["new", null, 0.25, 0.25],
  ]);
});

test("changes have keys of their own, though operators share a name", () => {
  const twins = [operator("a", "Conv"), operator("a", "Conv")];
  expect(new Set(changes(twins, twins).map(({ key }) => key)).size).toBe(2);
});

test("kinds of two runtimes meet in what they do", () => {
  const before = [operator("x", "Conv", "", 2), operator("y", "FusedConv", "", 1)];
  const after = [operator("z", "aten::convolution", "", 4)];
  expect(kindChanges(before, after, true)).toMatchObject([{ name: "convolution", before: 3, after: 4, difference: 1 }]);
  expect(kindChanges(before, after, false).map(({ name }) => name)).toEqual(["aten::convolution", "Conv", "FusedConv"]);
});
