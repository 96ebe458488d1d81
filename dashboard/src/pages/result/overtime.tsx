// Calls of a result, spread and over time, and what monitors saw meanwhile.
//   <Calls distributions={result.distributions} query={route.query} /> · <Timelines timelines={result.timelines} />

import { useMemo } from "preact/hooks";
import type { Query } from "../../api";
import { change } from "../../route";
import type { Distribution, Timeline } from "../../shapes";
import { Chart, type ChartLine } from "../../parts/chart";
import { Distributions } from "../../parts/distribution";
import { Fold } from "../../parts/fold";
import { count } from "../../parts/format";

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

export function Timelines({ timelines }: { timelines: readonly Timeline[] }) {
  return (
    <Fold id="timelines" title="Resource usage over time" count={timelines.length}>
      <div class="timelines">
        {timelines.map((timeline) => (
          <One key={timeline.name} timeline={timeline} />
        ))}
      </div>
    </Fold>
  );
}

function One({ timeline }: { timeline: Timeline }) {
  const { name, unit, seconds, values } = timeline;
  const lines = useMemo((): ChartLine[] => [{ label: name, unit, at: seconds, point: values }], [timeline]);
  return (
    <figure class="panel">
      <figcaption>{name.replaceAll("_", " ")}</figcaption>
      <Chart label={`${name} over time`} lines={lines} zero xUnit="s" height={180} />
    </figure>
  );
}
