// What is pure about the drawing of a sweep.

import { scale, type Scale } from "../../parts/scale";
import type { Estimate, SweepLine, SweepMark } from "../../shapes";

const WIDE = 8; // largest over least: from here on a plain scale would crowd the short ones

/** An axis around estimates with their intervals; from zero, or logarithmic where they span much. */
export function axisOf(estimates: readonly Estimate[], zero: boolean): Scale {
  const ends = estimates.flatMap(({ point, low, high }) => [point, low ?? point, high ?? point]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (zero) return scale(0, high * 1.08 || 1);
  if (low > 0 && high / low > WIDE) return scale(low / 1.1, high * 1.1, { log: true });
  const room = (high - low) * 0.08;
  return scale(Math.max(0, low - room), high + room);
}

/** The place of the point that is nearest to a value across; by its latency unless said. */
export function closest(
  points: readonly SweepMark[],
  at: number,
  of: (point: SweepMark) => number = ({ latency }) => latency.point,
): number {
  let best = 0;
  points.forEach((point, i) => {
    if (Math.abs(of(point) - at) < Math.abs(of(points[best]!) - at)) best = i;
  });
  return best;
}

export interface GoodputLine {
  name: string;
  values: [number, Estimate][];
}

/** What succeeded and what kept its objectives, by rate; null where nothing was bounded, or where users were swept. */
export function goodputs({ kind, points }: SweepLine): GoodputLine[] | null {
  const good = points.flatMap(({ load, goodput }): [number, Estimate][] => (goodput ? [[load, goodput]] : []));
  if (kind !== "rate" || good.length < 2) return null;
  return [
    { name: "succeeded", values: points.map(({ load, throughput }) => [load, throughput]) },
    { name: "kept every objective", values: good },
  ];
}
