// Operators of two results in pairs; `analysis/operator_changes.py` matches them by the same rules,
// and tests/shared/operators.json holds both to them.

import type { Operator } from "../../shapes";
import { byKind } from "../../parts/operators";

export interface Change {
  key: string;
  name: string;
  kind: string;
  before: number | null;
  after: number | null;
  difference: number;
}

// as `analysis/operators.py` has them
const FAMILIES: { [name: string]: readonly string[] } = {
  convolution: ["conv"],
  "matrix product": ["gemm", "matmul", "fullyconnected", "addmm", "bmm", "aten::mm", "linear", "einsum"],
  attention: ["attention"],
  normalisation: ["batchnorm", "layernorm", "groupnorm", "rmsnorm", "normalization", "mvn"],
  pooling: ["pool", "reducemean", "aten::mean"],
  softmax: ["softmax"],
  activation: ["relu", "gelu", "silu", "swish", "sigmoid", "tanh", "clamp", "erf", "activation"],
  layout: ["reorder", "transpose", "permute", "reshape", "view", "flatten", "squeeze", "strided"],
};
const EXACT_FIRST: ((o: Operator) => string)[] = [
  (o) => JSON.stringify([o.name, o.kind, o.shapes]),
  (o) => JSON.stringify([o.name, o.kind]),
  (o) => o.name,
  (o) => JSON.stringify([o.kind, o.shapes]),
];

/** Every operator of either side, the largest difference first. */
export function changes(before: readonly Operator[], after: readonly Operator[]): Change[] {
  return sorted(
    matched(before, after).map(([a, b], i) =>
      change(b?.name ?? a!.name, b?.kind ?? a!.kind, a?.seconds, b?.seconds, String(i)),
    ),
  );
}

/** The same by kind, or with `families` by what kinds do: all that is left when two runtimes name them differently. */
export function kindChanges(before: readonly Operator[], after: readonly Operator[], families: boolean): Change[] {
  const named = (o: Operator) => (families ? { ...o, kind: family(o.kind) } : o);
  const seconds = (operators: readonly Operator[]) =>
    new Map(
      byKind(operators.map(named)).map((kind) => [kind.kind, kind.operators.reduce((sum, o) => sum + o.seconds, 0)]),
    );
  const [a, b] = [seconds(before), seconds(after)];
  return sorted([...new Set([...a.keys(), ...b.keys()])].map((kind) => change(kind, kind, a.get(kind), b.get(kind))));
}

/** What an operator does, in a word that holds for every library; its own kind where none is known. */
export function family(kind: string): string {
  const low = kind.toLowerCase().replaceAll("_", "");
  return Object.entries(FAMILIES).find(([, words]) => words.some((word) => low.includes(word)))?.[0] ?? kind;
}

function change(name: string, kind: string, before: number | undefined, after: number | undefined, key = name): Change {
  return { key, name, kind, before: before ?? null, after: after ?? null, difference: (after ?? 0) - (before ?? 0) };
}

function sorted(all: Change[]): Change[] {
  return all.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference));
}

/** Operators of both sides in pairs; what one side alone has stands without a partner. */
export function matched(
  before: readonly Operator[],
  after: readonly Operator[],
): [Operator | undefined, Operator | undefined][] {
  const partners = new Map<number, number>();
  for (const key of EXACT_FIRST) {
    const taken = new Set(partners.values());
    const waiting = new Map<string, number[]>();
    after.forEach((operator, place) => {
      if (!taken.has(place)) waiting.set(key(operator), [...(waiting.get(key(operator)) ?? []), place]);
    });
    before.forEach((operator, place) => {
      const partner = partners.has(place) ? undefined : waiting.get(key(operator))?.shift();
      if (partner !== undefined) partners.set(place, partner);
    });
  }
  const taken = new Set(partners.values());
  const left = before.map((o, i): [Operator, Operator | undefined] => [
    o,
    partners.has(i) ? after[partners.get(i)!] : undefined,
  ]);
  return [...left, ...after.filter((_, i) => !taken.has(i)).map((o): [undefined, Operator] => [undefined, o])];
}
