// How much the rounds of a run differ on a machine, run after run.

import { useMemo } from "preact/hooks";
import { isThere } from "../../api";
import { Chart, type ChartLine } from "../../parts/chart";
import { date, percent } from "../../parts/format";
import { href } from "../../route";
import type { MachineLine } from "../../shapes";

const MOST = 8; // lines: as many as there are colours

export function NoiseChart({ machines, height = 260 }: { machines: readonly MachineLine[]; height?: number }) {
  const shown = drawn(machines);
  const lines = useMemo(() => shown.map(lineOf), [machines]);
  const tip = (line: number, index: number, pinned: boolean) => (
    <Reading machine={shown[line]!} index={index} pinned={pinned} />
  );
  return <Chart label="Noise over time" lines={lines} tip={tip} height={height} zero />;
}

/** The machines whose noise is drawn, in the order of their colours. */
export function drawn(machines: readonly MachineLine[]): MachineLine[] {
  return machines.filter(({ noise }) => noise.at.length).slice(0, MOST);
}

/** Half-widths in the middle of the newest runs; null where there are none. */
export function usual({ noise: { spread } }: MachineLine): number | null {
  const sorted = spread.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

function lineOf({ name, noise }: MachineLine, colour: number): ChartLine {
  return { label: name, unit: "%", at: noise.at, point: noise.spread.map((one) => 100 * one), colour };
}

function Reading({
  machine: { name, noise },
  index,
  pinned,
}: {
  machine: MachineLine;
  index: number;
  pinned: boolean;
}) {
  const run = noise.runs[index] ?? "";
  return (
    <>
      <strong>± {percent(noise.spread[index] ?? 0)}</strong>
      <div>{name}</div>
      <div class="soft">{date(noise.at[index] ?? 0)}</div>
      {pinned && isThere(`runs/${run}`) ? (
        <a href={href("runs", [run])}>Run</a>
      ) : (
        <div class="soft small">run {run}</div>
      )}
    </>
  );
}
