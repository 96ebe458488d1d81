// The mathematics of distributions that lie over each other.

import type { Distribution } from "../shapes";

/** The share of calls that took at most `value`. */
export function shareBelow({ quantiles }: Distribution, value: number): number {
  const after = quantiles.findIndex(([, at]) => at > value);
  if (after < 0) return 1;
  const [shareAfter, valueAfter] = quantiles[after]!;
  const [shareBefore, valueBefore] = quantiles[after - 1] ?? [0, valueAfter];
  if (after === 0) return 0;
  return valueAfter === valueBefore
    ? shareAfter
    : shareBefore + ((shareAfter - shareBefore) * (value - valueBefore)) / (valueAfter - valueBefore);
}

/** The value that a share of the calls does not exceed. */
export function quantile({ quantiles }: Distribution, share: number): number {
  const after = quantiles.findIndex(([at]) => at >= share);
  if (after < 0) return quantiles.at(-1)?.[1] ?? NaN;
  const [shareAfter, valueAfter] = quantiles[after]!;
  const [shareBefore, valueBefore] = quantiles[after - 1] ?? [shareAfter, valueAfter];
  return shareAfter === shareBefore
    ? valueAfter
    : valueBefore + ((valueAfter - valueBefore) * (share - shareBefore)) / (shareAfter - shareBefore);
}

/** How many calls lie in the bin that holds `value`. */
export function callsAt({ edges, counts }: Distribution, value: number): number {
  const after = edges.findIndex((edge) => edge > value);
  return after > 0 ? (counts[after - 1] ?? 0) : 0;
}

/** Each bin as [from, to, density]: shares of calls over the width of the bin on the axis, so that bins of any widths compare. */
export function densities({ edges, counts, count }: Distribution, log: boolean): [number, number, number][] {
  return counts.flatMap((calls, i): [number, number, number][] => {
    const [from, to] = [edges[i]!, edges[i + 1]!];
    const width = log ? Math.log(to / from) : to - from;
    return Number.isFinite(width) && width > 0 ? [[from, to, calls / count / width]] : [];
  });
}

/** From the least to the largest value; `body` stops where the last bin gathers what lies far out. */
export function reach(distributions: readonly Distribution[], body = false): [number, number] {
  const lows = distributions.map((d) => d.edges[0] ?? Infinity);
  const highs = distributions.map((d) => (body ? bodyEnd(d) : (d.edges.at(-1) ?? -Infinity)));
  return [Math.min(...lows), Math.max(...highs)];
}

/** How many calls took longer than `value`. */
export function beyond({ edges, counts }: Distribution, value: number): number {
  return counts.reduce((sum, calls, i) => (edges[i]! >= value ? sum + calls : sum), 0);
}

function bodyEnd({ edges }: Distribution): number {
  const [before, start, end] = edges.slice(-3) as [number, number, number];
  return edges.length > 2 && end - start > 1.5 * (start - before) ? start : (edges.at(-1) ?? -Infinity);
}
