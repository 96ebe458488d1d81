// What is pure about the drawing of a race: which metrics it can be drawn by, and which cells no other beats in both.

import type { Better, RaceCellLine, RaceMetric, RaceView } from "../../shapes";
import type { Spot } from "../../parts/front";

export interface RaceSpot extends Spot {
  cell: RaceCellLine;
  isFront: boolean;
}

export interface Axes {
  across: RaceMetric;
  up: RaceMetric;
}

/** The metrics that say which direction is better, of which two cells and more have values. */
export function drawable({ metrics, cells }: RaceView): RaceMetric[] {
  return metrics.filter(({ name, better }) => better && cells.filter(({ values }) => values[name]).length > 1);
}

/** The two metrics to draw by: those asked for, else the first goal upward and what matters most beside it across. */
export function axesOf(race: RaceView, across = "", up = ""): Axes | null {
  const metrics = drawable(race);
  const named = (name: string) => metrics.find((metric) => metric.name === name);
  const upward = named(up) ?? metrics.find(({ name }) => name !== across);
  const beside = [named(across), ...metrics].find((metric) => metric && metric !== upward);
  return upward && beside ? { across: beside, up: upward } : null;
}

/** The cells that have both metrics, in the order of the race. */
export function spotsOf({ cells }: RaceView, { across, up }: Axes): RaceSpot[] {
  const spots = cells.flatMap((cell): RaceSpot[] => {
    const [x, y] = [cell.values[across.name], cell.values[up.name]];
    return x && y ? [{ cell, label: cell.brief, x, y, isFront: false }] : [];
  });
  const beats = (one: RaceSpot, other: RaceSpot) => {
    const gains = [gain(one.x.point, other.x.point, across.better), gain(one.y.point, other.y.point, up.better)];
    return gains.every((by) => by >= 0) && gains.some((by) => by > 0);
  };
  return spots.map((spot) => ({ ...spot, isFront: !spots.some((other) => beats(other, spot)) }));
}

function gain(one: number, other: number, better: Better | null): number {
  return better === "higher" ? one - other : other - one;
}

/** The spots of the front whose names do not run into each other, by their places in pixels. */
export function withRoom(front: readonly RaceSpot[], place: (spot: RaceSpot) => [number, number]): RaceSpot[] {
  const taken: [number, number][] = [];
  return front.filter((spot) => {
    const [x, y] = place(spot);
    if (taken.some(([a, b]) => Math.abs(y - b) < 15 && Math.abs(x - a) < 230)) return false;
    taken.push([x, y]);
    return true;
  });
}

/** How a cell stands or why it left, in a word, and its colour among those of charts. */
export function look({ state, reason }: RaceCellLine): { word: string; tone: number } {
  if (state !== "left") return { word: WORDS[state] ?? state, tone: TONES[state] ?? 5 };
  return { word: REASONS[reason] ?? reason, tone: LEFT[reason] ?? 7 };
}

// As in the pictures of the HTML report (report/race_plots.py).
const TONES: { [state: string]: number } = { leads: 2, front: 2, alike: 0, racing: 5 };
const LEFT: { [reason: string]: number } = { worse: 7, bound: 4, failed: 6, "not promising": 3 };
const WORDS: { [state: string]: string } = {
  leads: "winner",
  front: "on the front of all goals",
  alike: "not shown to be worse than the winner",
  racing: "in the race",
};
const REASONS: { [reason: string]: string } = {
  worse: "worse",
  bound: "breaks an objective",
  failed: "failed",
  "not promising": "not promising",
};

/** For the beginning of a line; a percentile keeps its name. */
export function upperFirst(text: string): string {
  return /^p\d/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1);
}
