// What drawings of a Pareto front share: axes around estimates, the border in steps, names beside points.
//   axisAround(estimates) · stairs(front, px, py, "lower") · <Called spot={spot} x={x} px={px} py={py} /> · shortened(name, 34)

import type { Better, Estimate } from "../shapes";
import "./front.css";
import type { Pixels } from "./plot";
import { scale, type Scale } from "./scale";

const LETTER = 6.4; // pixels
const LETTERS = 34; // of a name in the picture; the table has it whole

/** A configuration by two metrics. */
export interface Spot {
  label: string;
  x: Estimate;
  y: Estimate;
}

/** An axis with room around the values; along the logarithm where they span more than a factor of ten. */
export function axisAround(all: readonly Estimate[]): Scale {
  const ends = all.flatMap((one) => [one.low ?? one.point, one.point, one.high ?? one.point]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (low > 0 && high / low > 10) return scale(low / 1.15, high * 1.3, { log: true });
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return scale(low - room, high + 2 * room, { count: 5 });
}

/** The border of what is known to be reachable: from one of the front to the next in steps, not in slopes. */
export function stairs(front: readonly Spot[], px: Pixels, py: Pixels, better: Better | ""): string {
  const inOrder = [...front].sort((a, b) => (better === "lower" ? 1 : -1) * (a.x.point - b.x.point));
  return inOrder
    .flatMap((spot, i) => {
      const [x, y] = [px(spot.x.point), py(spot.y.point)];
      const before = inOrder[i - 1];
      return before
        ? [
            [x, py(before.y.point)],
            [x, y],
          ]
        : [[x, y]];
    })
    .map((at) => at.map((one) => one!.toFixed(1)).join(","))
    .join(" ");
}

/** The name of one of the front, towards the side where there is room for it. */
export function Called({ spot, x, px, py }: { spot: Spot; x: Scale; px: Pixels; py: Pixels }) {
  const left = x.place(spot.x.point) > 0.5;
  const room = Math.abs(px(spot.x.point) - px(left ? x.low : x.high)) - 12;
  const name = shortened(spot.label, Math.min(LETTERS, Math.floor(room / LETTER)));
  return (
    <text
      class="front-name"
      x={px(spot.x.point) + (left ? -9 : 9)}
      y={py(spot.y.point) - 9}
      text-anchor={left ? "end" : "start"}
    >
      {name}
    </text>
  );
}

/** The last words of a name, as many as there is room for: configurations differ at the end. */
export function shortened(name: string, letters: number): string {
  if (name.length <= letters) return name;
  const words = name.split(" ");
  while (words.length > 1 && words.join(" ").length + 2 > letters) words.shift();
  return `… ${words.join(" ")}`;
}

/** The unit beside a tick: a currency has no room there, and stands in the table. */
export function besideTick(unit: string): string {
  return /^[A-Z]{3}$/.test(unit) ? "" : unit;
}
