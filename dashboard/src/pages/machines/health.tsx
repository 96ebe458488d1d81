// How healthy a machine was, run after run: each signal with the limit above which it is out of the usual.

import { useMemo, useState } from "preact/hooks";
import { isThere } from "../../api";
import { Swatch } from "../../parts/badges";
import { Chart, type ChartLine } from "../../parts/chart";
import { count, date, number } from "../../parts/format";
import { href } from "../../route";
import type { HealthLine, MachineView } from "../../shapes";

export function Health({ view }: { view: MachineView }) {
  const [chosen, setChosen] = useState("");
  const signal = view.health.find((one) => one.name === chosen) ?? view.health[0];
  if (!signal) return null;
  return (
    <section class="panel section" aria-labelledby="health">
      <div class="row">
        <h2 id="health">Health over time</h2>
        {view.health.length > 1 && (
          <label class="field push">
            <span class="aside">Signal</span>
            <select value={signal.name} onChange={(event) => setChosen(event.currentTarget.value)}>
              {view.health.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.title}
                  {outOf(one) ? `: ${count(outOf(one), "run")} out of usual` : ""}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p class="soft small noise-words">
        {WORDS[signal.name] ?? "Share of the time, median over the results of a run."}
      </p>
      <ul class="row health-legend small" aria-label="Lines of the chart">
        <li>
          <Swatch index={0} /> {signal.title}
        </li>
        {signal.limits.some((limit) => limit !== null) && (
          <li>
            <Swatch index={1} /> limit of the usual
          </li>
        )}
      </ul>
      <SignalChart signal={signal} />
    </section>
  );
}

const WORDS: { [signal: string]: string } = {
  noise: "How much the rounds of a run differ: half the width of the intervals, median over its cases.",
  cpu_others: "CPU time that other processes took while results were measured; 100 % is one core.",
  steal: "CPU time that the hypervisor gave to others while results were measured.",
};

function outOf({ values, limits }: HealthLine): number {
  return values.filter((value, index) => isOut(value, limits[index] ?? null)).length;
}

function isOut(value: number, limit: number | null): boolean {
  return limit !== null && value > limit;
}

function SignalChart({ signal }: { signal: HealthLine }) {
  const lines = useMemo((): ChartLine[] => {
    const known = signal.limits.flatMap((limit, index) => (limit === null ? [] : [index]));
    const limit = {
      label: "limit of the usual",
      unit: "%",
      at: known.map((index) => signal.at[index]!),
      point: known.map((index) => signal.limits[index]!),
      colour: 1,
    };
    const values = { label: signal.title, unit: "%", at: signal.at, point: signal.values, colour: 0 };
    return known.length ? [values, limit] : [values];
  }, [signal]);
  const tip = (line: number, index: number, pinned: boolean) =>
    line ? <Limit line={lines[1]!} index={index} /> : <Reading signal={signal} index={index} pinned={pinned} />;
  return <Chart label={`${signal.title} over time`} lines={lines} tip={tip} height={220} zero />;
}

function Limit({ line, index }: { line: ChartLine; index: number }) {
  return (
    <>
      <strong>{number(line.point[index])} %</strong>
      <div class="soft">above this: out of the usual</div>
    </>
  );
}

function Reading({ signal, index, pinned }: { signal: HealthLine; index: number; pinned: boolean }) {
  const run = signal.runs[index] ?? "";
  const value = signal.values[index] ?? 0;
  return (
    <>
      <strong>{number(value)} %</strong>{" "}
      {isOut(value, signal.limits[index] ?? null) && <b class="worse">out of usual</b>}
      <div>{signal.title}</div>
      <div class="soft">{date(signal.at[index] ?? 0)}</div>
      {pinned && isThere(`runs/${run}`) ? (
        <a href={href("runs", [run])}>Run</a>
      ) : (
        <div class="soft small">run {run}</div>
      )}
    </>
  );
}
