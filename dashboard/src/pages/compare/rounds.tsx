// Rounds of the sides in order, each with its interval: whether a difference is one of sides or of rounds.
//   <RoundsPlot rounds={[{ name: "before", points: [{ point, low, high }] }, ...]} metric="latency_p50" unit="s" />

import { count, value } from "../../parts/format";
import { Plot } from "../../parts/plot";
import { plain, scale } from "../../parts/scale";

export interface RoundsOf {
  name: string;
  points: { point: number; low: number | null; high: number | null }[];
}

const MOST = 60; // of each side: a revision may have hundreds

export function RoundsPlot({ rounds, metric, unit }: { rounds: readonly RoundsOf[]; metric: string; unit: string }) {
  const shown = rounds.map((side) => ({ ...side, points: side.points.slice(-MOST) }));
  const ends = shown.flatMap((side) => side.points.flatMap((p) => [p.low ?? p.point, p.high ?? p.point]));
  const longest = Math.max(...shown.map((side) => side.points.length));
  const x = { ...scale(0.5, longest + 0.5), ticks: Array.from({ length: longest }, (_, i) => i + 1) };
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const y = scale(low - (high - low) * 0.05, high + (high - low) * 0.05, { count: 4 });
  const read = (at: number) => {
    const round = Math.min(longest, Math.max(1, Math.round(at)));
    return `${round}: ${shown.map((side) => `${side.name} ${value(side.points[round - 1]?.point, unit)}`).join(", ")}`;
  };
  const label = `Rounds: ${shown.map((side) => `${side.name} ${count(side.points.length, "round")}`).join(", ")}`;
  return (
    <section class="rounds">
      <h3>{metric} by round</h3>
      <Plot label={label} x={x} y={y} writeX={String} writeY={(at) => plain(value(at, unit))} read={read} height={150}>
        {(px, py) =>
          shown.map((side, i) =>
            side.points.map((p, j) => {
              const at = px(j + 1) + (i - (shown.length - 1) / 2) * (shown.length > 2 ? 8 : 10);
              return (
                <g key={`${side.name} ${j}`} class={`plot-mark tone-${i}`}>
                  {p.low !== null && p.high !== null && <line x1={at} x2={at} y1={py(p.low)} y2={py(p.high)} />}
                  {i ? (
                    <rect x={at - 3.5} y={py(p.point) - 3.5} width="7" height="7" />
                  ) : (
                    <circle cx={at} cy={py(p.point)} r="4" />
                  )}
                </g>
              );
            }),
          )
        }
      </Plot>
    </section>
  );
}
