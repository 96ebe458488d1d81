// Intervals as a band behind each line: one polygon, its edges thinned to a place per pixel. uPlot's own bands clip with
// the whole path, which takes several frames for 100,000 points. Where many points share a pixel, the line is their mean
// and a second, darker band shows from the least to the largest: otherwise noise would fill the picture.

import uPlot from "uplot";
import { firstFrom, scaleOf, type ChartLine } from "./data";

const DENSE = 3; // points in a pixel
const APART = 6; // pixels between dots
const ALPHAS = ["30", "55"]; // of the intervals, and of the points

/** Fills between low and high of every line, on the canvas, and behind dense points; `ink` gives the colour of a line. */
export function drawBands(u: uPlot, lines: readonly ChartLine[], band: boolean, ink: (line: number) => string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  lines.forEach((line, number) => {
    if (band && line.low && line.high) fill(u, envelope(u, line, line.low, line.high), ink(number) + ALPHAS[0]);
    if (isDense(u, line))
      fill(u, envelope(u, line, line.point, line.point), ink(number).slice(0, 7) + ALPHAS[line.pale ? 0 : 1]);
  });
  ctx.restore();
}

/** How uPlot draws a line: through every point, or through the mean of each pixel where they are dense. */
export function pathOf(line: ChartLine): uPlot.Series.PathBuilder {
  const plain = uPlot.paths.linear!();
  return (u, column, from, to) => (isDense(u, line) ? { stroke: means(u, line) } : plain(u, column, from, to));
}

/** Whether so many points are in view that they cannot be told apart. */
export function isDense(u: uPlot, line: ChartLine): boolean {
  const [from, to] = inView(u, line);
  return to - from > (DENSE * u.bbox.width) / uPlot.pxRatio && !line.scattered;
}

/** Whether so few are in view that each is worth a dot. */
export function isSparse(u: uPlot, line: ChartLine): boolean {
  const [from, to] = inView(u, line);
  return (to - from) * APART <= u.bbox.width / uPlot.pxRatio;
}

function means(u: uPlot, line: ChartLine): Path2D {
  const path = new Path2D();
  const scale = scaleOf(line);
  const [from, to] = inView(u, line);
  let [pixel, sum, known] = [Number.NaN, 0, 0];
  const close = () => void (known && path.lineTo(pixel, u.valToPos(sum / known, scale, true)));
  for (let index = from; index < to; index++) {
    const held = line.point[index];
    if (held === null || held === undefined) continue;
    const x = placeOf(u, line.at[index]!);
    if (x !== pixel) {
      close();
      [pixel, sum, known] = [x, 0, 0];
    }
    sum += held;
    known++;
  }
  close();
  return path;
}

function fill(u: uPlot, edges: Edge[], ink: string): void {
  if (edges.length < 2) return;
  const { ctx } = u;
  ctx.fillStyle = ink;
  ctx.beginPath();
  for (const [x, , top] of edges) ctx.lineTo(x, top);
  for (const [x, bottom] of edges.reverse()) ctx.lineTo(x, bottom);
  ctx.fill();
}

type Edge = [x: number, bottom: number, top: number];

/** Of each pixel in view the lowest and the highest end that lies there, in pixels; y grows downwards. */
function envelope(
  u: uPlot,
  line: ChartLine,
  low: readonly (number | null)[],
  high: readonly (number | null)[],
): Edge[] {
  const scale = scaleOf(line);
  const edges: Edge[] = [];
  const [from, to] = inView(u, line);
  let pixel = Number.NaN;
  let [least, most] = [Infinity, -Infinity];
  const close = () => {
    if (least <= most) edges.push([pixel, u.valToPos(least, scale, true), u.valToPos(most, scale, true)]);
  };
  for (let index = from; index < to; index++) {
    const [bottom, top] = [low[index], high[index]];
    if (bottom === null || bottom === undefined || top === null || top === undefined) continue;
    const x = placeOf(u, line.at[index]!);
    if (x !== pixel) {
      close();
      [pixel, least, most] = [x, Infinity, -Infinity];
    }
    if (bottom < least) least = bottom;
    if (top > most) most = top;
  }
  close();
  return edges;
}

/** The indices in view, and one more at each side. */
function inView(u: uPlot, line: ChartLine): [from: number, to: number] {
  const { min = 0, max = 0 } = u.scales["x"]!;
  return [Math.max(0, firstFrom(line.at, min) - 1), Math.min(line.at.length, firstFrom(line.at, max) + 2)];
}

function placeOf(u: uPlot, at: number): number {
  const { min = 0, max = 1 } = u.scales["x"]!;
  return Math.round(u.bbox.left + ((at - min) * u.bbox.width) / (max - min));
}
