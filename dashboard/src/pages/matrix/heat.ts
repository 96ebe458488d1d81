// The colours of a heat map: which tone a cell has, how strong it is, and what a scale of them means.

import type { Cell, Matrix } from "../../shapes";
import { number, value } from "../../parts/format";

export interface Heat {
  tone: "plain" | "better" | "worse" | "above" | "below";
  strength: number; // from 0 to 1
}

export interface HeatScale {
  of(cell: Cell): Heat;
  /** The number a cell is coloured by: its value, or what it is relative to the base of its row. */
  shown(cell: Cell): number | null;
  relative: boolean;
  legend: { heat: Heat; words: string }[];
}

/** What rows are measured against: a column, the best of each row, or nothing. */
export type Base = { column: string } | "best" | null;

/** Among which cells values are coloured: those of a row, of a column, or all. */
export const SHADES = ["row", "column", "whole"] as const;
export type Shade = (typeof SHADES)[number];

const LEAST_REACH = 1.25; // a few per cent stay pale
const MOST_REACH = 8;
const LEGEND = 7;

export function heatScale(matrix: Matrix, base: Base, by: Shade = "whole"): HeatScale {
  if (base !== null) return relative(matrix, base);
  return by === "whole" ? absolute(matrix) : within(matrix, by);
}

/** One tone, stronger with the value among those of the same row or column. */
function within({ cells }: Matrix, by: "row" | "column"): HeatScale {
  const parts = new Map<number, HeatRange>();
  for (const place of new Set(cells.map((cell) => cell[by]))) {
    const points = cells.filter((cell) => cell[by] === place).map((cell) => cell.estimate.point);
    parts.set(place, heatRange(points, LEAST_REACH)); // a row of nearly equal values is not striped
  }
  const name = by === "row" ? "its row" : "its column";
  return {
    of: (cell) => parts.get(cell[by])!.heat(cell.estimate.point),
    shown: (cell) => cell.estimate.point,
    relative: false,
    legend: [
      { heat: { tone: "plain", strength: 0.08 }, words: `lowest of ${name}` },
      { heat: { tone: "plain", strength: 1 }, words: `highest of ${name}` },
    ],
  };
}

interface HeatRange {
  heat: (point: number) => Heat;
  steps: number[];
}

/**
 * From pale to strong over these values, along the logarithm where all are positive; equal ones stay pale, and so do those
 * of which the highest is less than `least` times the lowest.
 */
function heatRange(points: readonly number[], least = 1): HeatRange {
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const [along, back] = low > 0 ? [Math.log, Math.exp] : [(at: number) => at, (at: number) => at];
  const span = Math.max(along(high) - along(low), low > 0 ? Math.log(least) : 0) || 1;
  return {
    heat: (point) => ({ tone: "plain", strength: 0.08 + (0.92 * (along(point) - along(low))) / span }),
    steps:
      points.length && high > low
        ? Array.from({ length: LEGEND }, (_, i) => back(along(low) + (span * i) / (LEGEND - 1)))
        : points.slice(0, 1),
  };
}

/** One tone, stronger with the value among all. */
function absolute({ cells, unit }: Matrix): HeatScale {
  const range = heatRange(cells.map((cell) => cell.estimate.point));
  return {
    of: (cell) => range.heat(cell.estimate.point),
    shown: (cell) => cell.estimate.point,
    relative: false,
    legend: range.steps.map((point) => ({ heat: range.heat(point), words: value(point, unit) })),
  };
}

/** Two tones that part at 1: which side is better depends on the metric. */
function relative(matrix: Matrix, base: Exclude<Base, null>): HeatScale {
  const bases = basesOf(matrix, base);
  const unjudged = base === "best" ? new Set<number>() : rowsOfHeldBases(matrix, base.column);
  const shown = (cell: Cell) => ratio(cell.estimate.point, bases.get(cell.row));
  const all = matrix.cells.map(shown).filter((one): one is number => one !== null);
  const reach = Math.min(MOST_REACH, Math.max(LEAST_REACH, ...all.map((one) => Math.max(one, 1 / one))));
  const heat = (at: number): Heat => ({
    tone: toneOf(at, matrix.better),
    strength: Math.min(1, Math.abs(Math.log(at)) / Math.log(reach)),
  });
  const steps = Array.from({ length: LEGEND }, (_, i) => reach ** ((2 * i) / (LEGEND - 1) - 1));
  return {
    of: (cell) => heat(cell.is_held || unjudged.has(cell.row) ? 1 : (shown(cell) ?? 1)),
    shown,
    relative: true,
    legend: steps.map((at) => ({ heat: heat(at), words: `×${number(at, 2)}` })),
  };
}

function basesOf({ cells, columns, better }: Matrix, base: Exclude<Base, null>): Map<number, number> {
  const bases = new Map<number, number>();
  for (const { row, column, estimate, is_held } of cells) {
    if (base !== "best") {
      if (columns[column] === base.column) bases.set(row, estimate.point);
      continue;
    }
    if (is_held) continue; // what was measured in quarantine is not the best of its row
    const known = bases.get(row);
    if (known === undefined || (better === "higher" ? estimate.point > known : estimate.point < known))
      bases.set(row, estimate.point);
  }
  return bases;
}

/** Rows whose base was measured in quarantine: nothing in them is called better or worse. */
function rowsOfHeldBases({ cells, columns }: Matrix, base: string): Set<number> {
  return new Set(cells.filter((cell) => cell.is_held && columns[cell.column] === base).map((cell) => cell.row));
}

function ratio(point: number, base: number | undefined): number | null {
  return base !== undefined && base > 0 && point > 0 ? point / base : null;
}

function toneOf(at: number, better: string): Heat["tone"] {
  if (Math.abs(at - 1) < 1e-9) return "plain";
  if (!better) return at > 1 ? "above" : "below";
  return at < 1 === (better === "lower") ? "better" : "worse";
}

/** What a row, a column or a choice is called: the server writes "-" where cases lack the dimension. */
export function nameOf(value: string, dimension: string): string {
  return value === "-" ? `no ${dimension}` : value;
}

/** The geometric mean of the ratios of a column, and over how many rows; null when there is none. */
export function columnMean(matrix: Matrix, heat: HeatScale, column: number): { mean: number; rows: number } | null {
  const judged = matrix.cells.filter((cell) => cell.column === column && !cell.is_held);
  const ratios = judged.flatMap((cell) => heat.shown(cell) ?? []);
  if (!ratios.length) return null;
  return { mean: Math.exp(ratios.reduce((sum, one) => sum + Math.log(one), 0) / ratios.length), rows: ratios.length };
}
