// The columns that uPlot draws, and which point lies nearest to the cursor.

import type uPlot from "uplot";

/** One line: columns of equal length, in order of `at`. `colour` is an index of tokens.css's --c0..--c7. */
export interface ChartLine {
  label: string;
  unit: string;
  at: readonly number[];
  point: readonly (number | null)[];
  low?: readonly (number | null)[];
  high?: readonly (number | null)[];
  colour?: number;
  /** Its scale stands at the right. */
  right?: boolean;
  /** Points without a line between them. */
  scattered?: boolean;
  /** Behind the others: small pale dots. */
  pale?: boolean;
}

/** A name on the axis. */
export interface ChartRelease {
  at: number;
  name: string;
}

export type ChartRange = [from: number, to: number];

export interface Place {
  line: number;
  index: number;
}

export interface Merged {
  columns: (readonly (number | null)[])[];
  /** Of each row its index in the line it belongs to; null when there is one line only. */
  index: Int32Array | null;
}

const REACH = 48; // pixels within which a point is meant

/** x, then the points of each line. Every row belongs to one line, so that no two points become one. */
export function merged(lines: readonly ChartLine[]): Merged {
  const [only] = lines;
  if (lines.length === 1 && only) return { columns: [only.at, only.point], index: null };
  const total = lines.reduce((sum, line) => sum + line.at.length, 0);
  const x = new Array<number>(total);
  const columns = lines.map(() => new Array<number | null>(total).fill(null));
  const index = new Int32Array(total);
  const next = lines.map(() => 0);
  for (let row = 0; row < total; row++) {
    const line = earliest(lines, next);
    const from = next[line]!++;
    x[row] = lines[line]!.at[from]!;
    index[row] = from;
    columns[line]![row] = lines[line]!.point[from] ?? null;
  }
  return { columns: [x, ...columns], index };
}

/** The least and the largest value of some lines between two places on x, their intervals too if `band`; null when there is none. */
export function ends(lines: readonly ChartLine[], band: boolean, from: number, to: number): [number, number] | null {
  let [least, most] = [Infinity, -Infinity];
  for (const { at, point, low, high } of lines)
    for (let index = firstFrom(at, from); index < at.length && at[index]! <= to; index++) {
      const held = point[index];
      if (held === null || held === undefined) continue;
      least = Math.min(least, (band ? low?.[index] : held) ?? held);
      most = Math.max(most, (band ? high?.[index] : held) ?? held);
    }
  return least <= most ? [least, most] : null;
}

/** The first index whose place is not before `wanted`. */
export function firstFrom(at: readonly number[], wanted: number): number {
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The point that the cursor means, of all lines the nearest one. */
export function nearest(u: uPlot, data: Merged, lines: readonly ChartLine[]): Place | null {
  const { left = -1, top = -1, idxs = [] } = u.cursor;
  if (left < 0) return null;
  let found: Place | null = null;
  let least = Infinity;
  lines.forEach((line, number) => {
    const row = idxs[1 + number];
    if (row === null || row === undefined) return;
    const index = data.index ? data.index[row]! : row;
    const held = line.point[index];
    if (held === null || held === undefined) return;
    const dx = u.valToPos(line.at[index]!, "x") - left;
    const dy = u.valToPos(held, scaleOf(line)) - top;
    const far = Math.hypot(dx, dy / 3);
    if (Math.abs(dx) <= REACH && far < least) [least, found] = [far, { line: number, index }];
  });
  return found;
}

export function scaleOf(line: ChartLine): "y" | "y2" {
  return line.right ? "y2" : "y";
}

function earliest(lines: readonly ChartLine[], next: readonly number[]): number {
  let line = -1;
  let least = Infinity;
  lines.forEach((one, number) => {
    const at = one.at[next[number]!];
    if (at !== undefined && at < least) [least, line] = [at, number];
  });
  return line;
}
