// Stretches of a chart that are shaded, because what lies in them does not count.

import uPlot from "uplot";
import { colour } from "../theme";

export interface ChartSpan {
  from: number;
  /** Infinity for up to the right end. */
  to: number;
}

const APART = 7; // pixels between the strokes

/** Hatches each stretch that is in view, behind the lines: strokes show where colours do not. */
export function drawSpans(u: uPlot, spans: readonly ChartSpan[]): void {
  const { ctx, bbox } = u;
  const by = uPlot.pxRatio;
  const [left, right] = [bbox.left, bbox.left + bbox.width];
  const place = (at: number) => (at === Infinity ? right : Math.min(right, Math.max(left, u.valToPos(at, "x", true))));
  for (const span of spans) {
    const [from, to] = [place(span.from), place(span.to)];
    if (to - from < 1) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, bbox.top, to - from, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour("unclear-wash");
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
    ctx.strokeStyle = colour("unclear");
    ctx.globalAlpha = 0.25;
    ctx.lineWidth = by;
    ctx.beginPath();
    for (let x = from - bbox.height; x < to; x += APART * by) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
}
