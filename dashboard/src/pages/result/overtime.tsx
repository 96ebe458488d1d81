// Calls of a result, spread and over time, and what monitors saw meanwhile.
//   <Calls distributions={result.distributions} query={route.query} /> · <Timelines timelines={...} details={result.details} bands={result.bands} />

import { useMemo } from "preact/hooks";
import type { Query } from "../../api";
import { change } from "../../route";
import type { Distribution, Timeline, ValueBand } from "../../shapes";
import { Chart, type ChartLevel, type ChartLine } from "../../parts/chart";
import { Distributions } from "../../parts/distribution";
import { Fold } from "../../parts/fold";
import { count } from "../../parts/format";
import { colour } from "../../parts/theme";
import { taskMarks, type Details, type TaskMarks } from "./taskmarks";

export function Calls({ distributions, query }: { distributions: readonly Distribution[]; query: Query }) {
  const shown = distributions.find((one) => one.column === query["column"]) ?? distributions[0]!;
  const [log, whole] = [query["log"] === "1", query["whole"] === "1"];
  return (
    <section class="section">
      <div class="row">
        <h2>Individual {shown.of === "call" ? "calls" : "requests"}</h2>
        {distributions.length > 1 &&
          distributions.map(({ column }) => (
            <button
              type="button"
              key={column}
              aria-pressed={column === shown.column}
              onClick={() => change({ column }, true)}
            >
              {column}
            </button>
          ))}
        <span class="row push">
          <button type="button" aria-pressed={log} onClick={() => change({ log: log ? undefined : "1" }, true)}>
            Log scale
          </button>
          <button type="button" aria-pressed={whole} onClick={() => change({ whole: whole ? undefined : "1" }, true)}>
            Full range
          </button>
        </span>
      </div>
      <div class="panel">
        <Distributions shown={[{ name: shown.column, tone: 0, distribution: shown }]} log={log} whole={whole} />
        {shown.over_time.length > 1 && <OverTime distribution={shown} log={log} />}
      </div>
    </section>
  );
}

function OverTime({ distribution, log }: { distribution: Distribution; log: boolean }) {
  const { column, unit, over_time: calls } = distribution;
  const lines = useMemo(
    (): ChartLine[] => [
      { label: column, unit, at: calls.map(([at]) => at), point: calls.map(([, took]) => took), scattered: true },
    ],
    [distribution],
  );
  const thinned = calls.length < distribution.count;
  return (
    <figure class="result-calls">
      <figcaption class="soft small">
        {thinned
          ? `Over time: of ${count(distribution.count, distribution.of)} the shortest and longest of each interval`
          : `Every ${distribution.of} over time`}
      </figcaption>
      <Chart label={`${column} of calls over time`} lines={lines} log={log} xUnit="s" height={240} />
    </figure>
  );
}

interface TimelinesProps {
  timelines: readonly Timeline[];
  details: Details;
  /** Of what all rounds of a task printed. */
  bands: readonly ValueBand[];
}

export function Timelines({ timelines, details, bands }: TimelinesProps) {
  return (
    <Fold id="timelines" title="Values and resource usage over time" count={timelines.length}>
      <div class="timelines">
        {timelines.map((timeline) => (
          <One
            key={timeline.name}
            timeline={timeline}
            task={taskMarks(timeline.name, details)}
            band={bands.find(({ name }) => name === timeline.name)}
          />
        ))}
      </div>
    </Fold>
  );
}

interface OneProps {
  timeline: Timeline;
  task: TaskMarks | null;
  band: ValueBand | undefined;
}

function One({ timeline, task, band }: OneProps) {
  const { name, unit, seconds, values } = timeline;
  const lines = useMemo((): ChartLine[] => {
    const own = { label: band ? "this round" : name, unit, at: seconds, point: values };
    return band ? [roundsLine(band, unit), { ...own, colour: 0 }] : [own];
  }, [timeline, band]);
  const words = [band ? `the band is the range of ${band.rounds} rounds` : "", task?.words ?? ""];
  const levels = useMemo((): ChartLevel[] => goalLevel(task, seconds), [timeline, task?.bound]);
  const spans = task && task.leftOutUntil > 0 ? [{ from: 0, to: task.leftOutUntil }] : [];
  return (
    <figure class="panel">
      <figcaption>
        {name.replaceAll("_", " ")}
        {words.some(Boolean) && <span class="soft small"> · {words.filter(Boolean).join("; ")}</span>}
      </figcaption>
      <Chart
        label={`${name} over time`}
        lines={lines}
        levels={levels}
        spans={spans}
        band={band !== undefined}
        zero={task === null}
        xUnit="s"
        height={180}
      />
    </figure>
  );
}

/** The middle of all rounds, with the range from the lowest to the highest of them. */
function roundsLine({ rounds, seconds, low, middle, high }: ValueBand, unit: string): ChartLine {
  return { label: `middle of ${rounds} rounds`, unit, at: seconds, point: middle, low, high, colour: 7 };
}

function goalLevel(task: TaskMarks | null, seconds: readonly number[]): ChartLevel[] {
  if (task === null || task.bound === null || seconds.length === 0) return [];
  const to = seconds[seconds.length - 1]!;
  return [{ from: seconds[0]!, to, point: task.bound, low: null, high: null, colour: () => colour("soft") }];
}
