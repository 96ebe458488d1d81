// A ratio with its interval around 1, on a logarithmic scale that all rows share.
//   const reach = ratioReach(lines.map((l) => l.ratio));  <Ratio ratio={line.ratio} verdict={line.verdict} reach={reach} />

import type { Estimate, Verdict } from "../../shapes";
import { scale } from "../../parts/scale";

const WIDTH = 150;
const HEIGHT = 18;
const LEAST_REACH = 1.1; // so that noise of a percent does not look like a change
const MOST_REACH = 8;

/** How far the scale goes: from 1 / reach to reach. */
export function ratioReach(ratios: readonly (Estimate | null)[]): number {
  const ends = ratios
    .flatMap((r) => (r ? [r.low ?? r.point, r.point, r.high ?? r.point] : []))
    .filter((end) => end > 0);
  const furthest = Math.max(LEAST_REACH, ...ends.map((end) => Math.max(end, 1 / end)));
  return Math.min(MOST_REACH, furthest * 1.02);
}

/** The words stand beside it in the row, so the drawing is hidden from readers. An end beyond the scale is an arrow. */
export function Ratio({ ratio, verdict, reach }: { ratio: Estimate | null; verdict: Verdict; reach: number }) {
  const along = scale(1 / reach, reach, { log: true });
  const px = (at: number) => 4 + Math.min(1, Math.max(0, along.place(at))) * (WIDTH - 8);
  const middle = HEIGHT / 2;
  const beyond = ratio ? (ratio.point > reach ? WIDTH - 1 : ratio.point < 1 / reach ? 1 : 0) : 0;
  const inward = beyond > 1 ? -6 : 6;
  return (
    <svg class={`ratio verdict-${verdict}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <line class="ratio-ground" x1={4} x2={WIDTH - 4} y1={middle} y2={middle} />
      <line class="ratio-one" x1={px(1)} x2={px(1)} y1={1} y2={HEIGHT - 1} />
      {ratio && (
        <>
          <line
            class="ratio-interval"
            x1={px(ratio.low ?? ratio.point)}
            x2={px(ratio.high ?? ratio.point)}
            y1={middle}
            y2={middle}
          />
          {beyond ? (
            <path class="ratio-point" d={`M${beyond},${middle}l${inward},-4v8z`} />
          ) : (
            <circle class="ratio-point" cx={px(ratio.point)} cy={middle} r={3.5} />
          )}
        </>
      )}
    </svg>
  );
}
