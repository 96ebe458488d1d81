// Speed-up of a task against its number of processes, with the line of nothing lost, and the table of its numbers.
//   <SpeedUps speedups={run.speedups} />

import { count, estimate } from "../../parts/format";
import { Plot } from "../../parts/plot";
import { scale } from "../../parts/scale";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { Estimate, SpeedUpLine, SpeedUpMark } from "../../shapes";
import "./speedups.css";

export function SpeedUps({ speedups }: { speedups: readonly SpeedUpLine[] }) {
  if (!speedups.length) return null;
  return (
    <section class="section">
      <h2>Speed-up by processes</h2>
      {speedups.map((one) => (
        <One key={one.title} speedup={one} />
      ))}
    </section>
  );
}

function One({ speedup }: { speedup: SpeedUpLine }) {
  return (
    <div class="panel">
      <h3>{speedup.title}</h3>
      {[...speedup.advice, ...speedup.cautions].map((line) => (
        <p key={line}>{line}</p>
      ))}
      <div class="plots">
        <Curve speedup={speedup} />
        <Table
          caption={speedup.title}
          columns={columns(speedup)}
          rows={speedup.points}
          keyOf={({ processes }) => String(processes)}
        />
      </div>
    </div>
  );
}

function Curve({ speedup }: { speedup: SpeedUpLine }) {
  const { base } = speedup;
  const points = speedup.points.flatMap((point) => (point.speedup ? [{ ...point, speedup: point.speedup }] : []));
  const most = Math.max(...points.map(({ processes }) => processes));
  const highest = Math.max(most / base, ...points.map(({ speedup: one }) => one.high ?? one.point));
  const closest = (at: number) =>
    points.reduce((best, one) => (Math.abs(one.processes - at) < Math.abs(best.processes - at) ? one : best));
  return (
    <figure>
      <figcaption>Speed-up against the number of processes; dashed: nothing lost</figcaption>
      <Plot
        label={`Speed-up of ${count(points.length, "case")} against their number of processes`}
        x={scale(0, most * 1.05)}
        y={scale(0, highest * 1.08)}
        writeX={(at) => String(Math.round(at * 10) / 10)}
        writeY={(at) => `${Math.round(at * 100) / 100}×`}
        read={(at) => said(closest(at))}
        height={280}
      >
        {(px, py) => (
          <g class="tone-0">
            <line class="speedup-ideal" x1={px(base)} y1={py(1)} x2={px(most)} y2={py(most / base)} />
            <polyline
              class="plot-line"
              points={points.map((one) => `${px(one.processes)},${py(one.speedup.point)}`).join(" ")}
            />
            {points.map((one) => (
              <g key={one.processes} class="plot-mark">
                <title>{said(one)}</title>
                {one.speedup.low !== null && one.speedup.high !== null && (
                  <line
                    x1={px(one.processes)}
                    x2={px(one.processes)}
                    y1={py(one.speedup.low)}
                    y2={py(one.speedup.high)}
                  />
                )}
                <circle cx={px(one.processes)} cy={py(one.speedup.point)} r={4} />
              </g>
            ))}
          </g>
        )}
      </Plot>
    </figure>
  );
}

function columns({ metric, unit, points }: SpeedUpLine): Column<SpeedUpMark>[] {
  const told: Column<SpeedUpMark>[] = [
    {
      name: "processes",
      head: "Processes",
      cell: ({ processes, result }) => <a href={href("results", [result])}>{processes}</a>,
      number: true,
      heads: true,
    },
    { name: "value", head: metric, cell: ({ value }) => estimate(value, unit), number: true },
    { name: "speedup", head: "Speed-up", cell: ({ speedup }) => times(speedup), number: true },
    { name: "efficiency", head: "Efficiency", cell: ({ efficiency }) => share(efficiency, 100), number: true },
  ];
  if (!points.some(({ communication }) => communication)) return told;
  return [
    ...told,
    {
      name: "communication",
      head: "Lost to communication",
      cell: ({ communication }) => share(communication, 1),
      number: true,
    },
  ];
}

function said({ processes, speedup, efficiency }: SpeedUpMark): string {
  return `${count(processes, "process", "processes")}: ${times(speedup)}, efficiency ${share(efficiency, 100)}`;
}

function times(one: Estimate | null): string {
  return written(one, 1, 2, "×");
}

function share(one: Estimate | null, factor: number): string {
  return written(one, factor, 0, " %");
}

function written(one: Estimate | null, factor: number, digits: number, unit: string): string {
  if (!one) return "–";
  const [point, low, high] = [one.point, one.low, one.high].map((at) => (at ?? 0) * factor);
  const shown = `${point!.toFixed(digits)}${unit}`;
  return one.low === null || one.high === null ? shown : `${shown} [${low!.toFixed(digits)}, ${high!.toFixed(digits)}]`;
}
