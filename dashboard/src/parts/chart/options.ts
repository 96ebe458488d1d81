// What uPlot is told: scales, axes and lines.

import type uPlot from "uplot";
import { DASHES } from "../badges";
import { DAY, labelled, number, scaleFor, two, value } from "../format";
import { logTicks, plain } from "../scale";
import { colour } from "../theme";
import { isDense, isSparse, pathOf } from "./bands";
import { ends, scaleOf, type ChartLine } from "./data";

/** A stretch at one height, or sloping to another: what a series held before, in or after a change. */
export interface ChartLevel {
  from: number;
  to: number;
  point: number;
  /** The height at its end, where that is another. */
  end?: number;
  low: number | null;
  high: number | null;
  colour: () => string;
}

interface Wanted {
  lines: readonly ChartLine[];
  log: boolean;
  band: boolean;
  zero: boolean;
  width: number;
  height: number;
  xUnit: string;
  xName: ((x: number) => string) | undefined;
  marked: boolean;
}

const PALE = "90"; // alpha
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function optionsFor(wanted: Wanted): uPlot.Options {
  const { lines, width, height, xUnit, xName, marked } = wanted;
  const left = lines.find((line) => !line.right);
  const right = lines.find((line) => line.right);
  return {
    width: Math.max(width, 200),
    height,
    ms: 1,
    padding: [marked ? 30 : 12, right ? null : 20, 0, null],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      hover: { skip: [null, undefined] },
      points: {
        size: 9,
        width: 2,
        fill: () => colour("paper"),
        stroke: (_u, column) => inkOf(lines[column - 1]!, column - 1),
      },
      bind: { mousedown: unlessShift, dblclick: () => null },
    },
    scales: {
      x: { time: xUnit === "" && !xName, range: roomyX },
      y: scale(wanted, "y"),
      ...(right ? { y2: scale(wanted, "y2") } : {}),
    },
    series: [{}, ...lines.map(seriesOf)],
    axes: [
      { ...axis(), ...xAxis(xUnit, xName), space: 80 },
      { ...axis(), scale: "y", ...quantityAxis(left?.unit ?? "", wanted.log) },
      ...(right
        ? [{ ...axis(), scale: "y2", side: 1 as const, ...quantityAxis(right.unit, wanted.log), grid: { show: false } }]
        : []),
    ],
  };
}

// ---- lines ----

function seriesOf(line: ChartLine, index: number): uPlot.Series {
  const ink = () => inkOf(line, index);
  return {
    scale: scaleOf(line),
    auto: false, // the scale looks for itself, as intervals need room too
    width: line.scattered || line.pale ? 0 : 1.5,
    spanGaps: true,
    stroke: ink,
    paths: pathOf(line),
    dash: [...DASHES[(line.colour ?? index) % 8]!],
    points: {
      size: line.pale ? 5 : 6,
      width: 0,
      fill: ink,
      stroke: ink,
      show: (u) => (line.pale ? !isDense(u, line) : line.scattered || isSparse(u, line)),
    },
  };
}

/** The colour of a line. */
export function inkOf(line: ChartLine, index: number): string {
  return colour(`c${(line.colour ?? index) % 8}`) + (line.pale ? PALE : "");
}

// ---- scales ----

function scale({ lines, band, log, zero }: Wanted, name: "y" | "y2"): uPlot.Scale {
  const mine = lines.filter((line) => scaleOf(line) === name);
  const inView = (u: uPlot) => ends(mine, band, u.series[0]!.min ?? -Infinity, u.series[0]!.max ?? Infinity);
  return log ? { distr: 3, range: (u) => roomyLog(inView(u)) } : { range: (u) => roomy(inView(u), zero) };
}

function roomy(held: [number, number] | null, zero: boolean): uPlot.Range.MinMax {
  if (!held) return [0, 1];
  const [min, max] = held;
  const pad = (max - min || Math.abs(max) * 0.1 || 1) * 0.08;
  return [zero ? Math.min(0, min) : min >= 0 ? Math.max(0, min - pad) : min - pad, max + pad];
}

function roomyLog(held: [number, number] | null): uPlot.Range.MinMax {
  if (!held || held[1] <= 0) return [0.1, 1];
  const [min, max] = held;
  const low = min > 0 ? min : max / 1000;
  const spread = Math.max((max / low) ** 0.08, 1.05);
  return [low / spread, max * spread];
}

function roomyX(u: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax {
  if (min === null || max === null) return [0, 1];
  if (min === max) return u.scales["x"]!.time ? [min - DAY, max + DAY] : [min - 1, max + 1];
  const xs = u.data[0];
  const whole = min === xs[0] && max === xs.at(-1);
  const pad = whole ? (max - min) * 0.015 : 0;
  return [min - pad, max + pad];
}

// ---- axes ----

function axis(): uPlot.Axis {
  return {
    font: FONT,
    stroke: () => colour("soft"),
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { stroke: () => colour("line"), width: 1, size: 5 },
    border: { show: true, stroke: () => colour("edge"), width: 1 },
    gap: 5,
  };
}

function xAxis(unit: string, name: ((x: number) => string) | undefined): uPlot.Axis {
  if (name) return { values: (_u, splits) => splits.map(name), incrs: WHOLE_STEPS, size: 32 };
  return unit === "" ? { values: instants } : { values: quantities(unit), size: 32 };
}

/** Names stand at whole numbers. */
const WHOLE_STEPS = Array.from({ length: 18 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** Math.floor(index / 3));

function axisSize(_u: uPlot, values: string[] | null): number {
  const longest = Math.max(0, ...(values ?? []).map((one) => (one ?? "").length));
  return Math.max(44, 18 + longest * 6.6);
}

function quantityAxis(unit: string, log: boolean): uPlot.Axis {
  return { size: axisSize, ...(log ? logAxis(unit) : { values: quantities(unit), incrs: stepsOf(unit) }) };
}

/** uPlot's own has no label at all where less than a decade is shown. */
function logAxis(unit: string): uPlot.Axis {
  return {
    splits: (_u, _axis, min, max) => {
      const [factor] = scaleFor(max, unit);
      return logTicks(min / factor, max / factor, 6).map((tick) => tick * factor);
    },
    values: (_u, splits) => splits.map((one) => plain(value(one, unit))),
    filter: (_u, splits) => splits,
  };
}

/** Steps that are round in the unit that is shown: an axis in MiB does not count in millions of bytes. */
function stepsOf(unit: string): uPlot.Axis.Incrs {
  return (_u, _axis, min, max) => {
    const [factor] = scaleFor(Math.max(Math.abs(min), Math.abs(max)), unit);
    return Array.from({ length: 48 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** (Math.floor(index / 3) - 9) * factor);
  };
}

/** Values of one axis share their unit, and have the digits that tell them apart. */
function quantities(unit: string): uPlot.Axis.DynamicValues {
  return (_u, splits, _axis, _space, step) => {
    const [factor, label] = scaleFor(Math.max(...splits.map(Math.abs)), unit);
    const decimals = decimalsOf(step / factor);
    const text = (one: number) =>
      (one / factor).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return splits.map((one) => (one === 0 ? "0" : labelled(decimals > 5 ? number(one / factor) : text(one), label)));
  };
}

/** As many as it takes to write a step in full: 2.5 needs one. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 6; decimals++) {
    const shifted = step * 10 ** decimals;
    if (Math.abs(shifted - Math.round(shifted)) < 1e-6 * shifted) return decimals;
  }
  return 6;
}

/** Days, or times of a day with the day where it begins; the year where it changes. */
function instants(_u: uPlot, splits: number[], _axis: number, _space: number, step: number): string[] {
  let before = new Date(Number.NaN);
  return splits.map((one) => {
    const at = new Date(one);
    const newYear = at.getFullYear() !== before.getFullYear();
    const newDay = newYear || at.getDate() !== before.getDate() || at.getMonth() !== before.getMonth();
    before = at;
    const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}${step < 60_000 ? `:${two(at.getSeconds())}` : ""}`;
    if (step < DAY) return newDay ? `${clock}\n${day}` : clock;
    const date = step >= 27 * DAY ? MONTHS[at.getMonth()]! : day;
    return newYear ? `${date}\n${at.getFullYear()}` : date;
  });
}

/** With Shift a drag pans: gestures.ts does that. */
function unlessShift(_u: uPlot, _target: HTMLElement, handler: uPlot.Cursor.MouseListener): uPlot.Cursor.MouseListener {
  return (event) => (event.shiftKey || event.button !== 0 ? null : handler(event));
}
