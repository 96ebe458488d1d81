// Releases: a dotted line through the picture, and its name at the top where the one before leaves room.

import uPlot from "uplot";
import { colour } from "../theme";
import type { ChartRelease } from "./data";

const GAP = 6; // pixels between two names
const LONGEST = 24; // letters of a name

export function drawReleases(u: uPlot, releases: readonly ChartRelease[]): void {
  if (!releases.length) return;
  const { ctx, bbox } = u;
  const by = uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${11 * by}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.strokeStyle = ctx.fillStyle = colour("soft");
  ctx.lineWidth = by;
  ctx.setLineDash([2 * by, 4 * by]);
  let taken = -Infinity;
  for (const { at, name } of releases) {
    const x = Math.round(u.valToPos(at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x < taken) continue;
    const text = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    const width = ctx.measureText(text).width + GAP * by;
    const left = Math.min(x + 4 * by, bbox.left + bbox.width - width);
    ctx.fillText(text, left, bbox.top + 3 * by);
    taken = left + width;
  }
  ctx.restore();
}
