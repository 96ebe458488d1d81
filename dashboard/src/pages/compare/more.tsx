// What lies behind one row of a comparison: how the calls of all sides are spread, the rounds, and the operators.
//   <ComparedMore line={line} sides={sides} query={route.query} />  log and full live in the address

import { get, isStatic, useAsked, type Query } from "../../api";
import { Distributions, type Shown } from "../../parts/distribution";
import { count } from "../../parts/format";
import { Problem, Waiting } from "../../parts/states";
import { change, href } from "../../route";
import type { ComparedLine, Distribution, ResultView, SeriesView, Side } from "../../shapes";
import { OperatorDiff } from "./operators";
import { RoundsPlot, type RoundsOf } from "./rounds";
import { shortName } from "./sides";

/** A published site has the calls of one round. */
const TOGETHER: Query = isStatic ? {} : { rounds: "together" };

interface Props {
  line: ComparedLine;
  sides: readonly Side[];
  query: Query;
}

export function ComparedMore({ line, sides, query }: Props) {
  const ids = resultsOf(line);
  const answer = useAsked(ids.join(" "), () =>
    Promise.all(
      ids.map((id) => (id ? get<ResultView>(`results/${encodeURIComponent(id)}`, TOGETHER) : Promise.resolve(null))),
    ),
  );
  if (answer.error !== undefined) return <Problem error={answer.error} />;
  if (!answer.data) return <Waiting />;
  const [first, ...others] = answer.data;
  return (
    <div class="compared-more">
      <Links line={line} sides={sides} />
      <Spreads line={line} results={answer.data} query={query} />
      <RoundsOfSides line={line} sides={sides} />
      {first &&
        others.map(
          (other, i) =>
            other && (
              <OperatorDiff
                key={other.id}
                before={first}
                after={other}
                of={sides.length > 2 ? ` of ${shortName(i + 1, sides.length)} and A` : ""}
              />
            ),
        )}
    </div>
  );
}

function resultsOf(line: ComparedLine): string[] {
  return [line.before_result, line.after_result, ...line.others.map((one) => one.result)];
}

function Links({ line, sides }: { line: ComparedLine; sides: readonly Side[] }) {
  return (
    <p class="row">
      {line.series.length > 0 && <a href={href("series", [line.series.join(",")])}>History</a>}
      {resultsOf(line).map(
        (id, i) =>
          id && (
            <a key={`${i} ${id}`} href={href("results", [id])}>
              Result {shortName(i, sides.length)}
            </a>
          ),
      )}
    </p>
  );
}

interface SpreadProps {
  line: ComparedLine;
  results: readonly (ResultView | null)[];
  query: Query;
}

function Spreads({ line, results, query }: SpreadProps) {
  const log = Boolean(query["log"]);
  const whole = Boolean(query["full"]);
  const column = columnOf(
    line,
    results.flatMap((result) => result?.distributions ?? []),
  );
  const shown = results.flatMap((result, i): Shown[] => {
    const distribution = result?.distributions.find((d) => d.column === column);
    return distribution ? [{ name: shortName(i, results.length), tone: i, distribution }] : [];
  });
  if (!shown.length)
    return (
      <p class="soft">The individual calls of these results were not kept, so there is no distribution to show.</p>
    );
  return (
    <section>
      <div class="row">
        <h3>Individual calls</h3>
        <button type="button" aria-pressed={log} onClick={() => change({ log: log ? undefined : "1" }, true)}>
          Log scale
        </button>
        <button type="button" aria-pressed={whole} onClick={() => change({ full: whole ? undefined : "1" }, true)}>
          Full range
        </button>
      </div>
      <p class="soft small">{roundsText(results)}</p>
      <Distributions shown={shown} log={log} whole={whole} />
      {shown.length < results.filter(Boolean).length && (
        <p class="soft small">The individual calls of the other sides were not kept.</p>
      )}
    </section>
  );
}

/** Of which rounds the calls are: every call weighs the same. */
export function roundsText(results: readonly (Pick<ResultView, "distributed" | "distributions"> | null)[]): string {
  const parts = results.flatMap((result, i) =>
    result?.distributions.length ? [`${shortName(i, results.length)} ${count(result.distributed, "round")}`] : [],
  );
  return `Calls of ${parts.join(", ")} of a run together; every call counts once.`;
}

/** The column that the metric was made of: `service_p99` of `service`; otherwise the first. */
function columnOf(line: ComparedLine, all: readonly Distribution[]): string {
  return (all.find((d) => line.metric.startsWith(d.column)) ?? all[0])?.column ?? "";
}

/** Points of a series are results, and results are rounds: those of the compared runs are picked out. */
function RoundsOfSides({ line, sides }: { line: ComparedLine; sides: readonly Side[] }) {
  const [first = ""] = line.series;
  const keys = [first, seriesOf(line), ...line.others.map((one) => one.series || first)];
  const known = [...new Set(keys)].filter(Boolean);
  const answer = useAsked(known.length ? `${known.join(" ")} ${line.unit}` : null, () =>
    Promise.all(known.map((key) => get<SeriesView>(`series/${encodeURIComponent(key)}`, { unit: line.unit }))),
  );
  if (!answer.data) return null;
  const views = answer.data;
  const rounds = sides.map((side, i): RoundsOf => {
    const view = views[known.indexOf(keys[i] ?? "")];
    return { name: shortName(i, sides.length), points: view ? picked(view, side) : [] };
  });
  return rounds.some((side) => side.points.length > 1) ? (
    <RoundsPlot rounds={rounds} metric={line.metric} unit={line.unit} />
  ) : null;
}

/** The series of the second side: the first where both sides are points of one. */
function seriesOf(line: ComparedLine): string {
  const others = new Set(line.others.map((one) => one.series));
  const [first = "", ...more] = line.series;
  return line.after_result ? (more.find((key) => !others.has(key)) ?? first) : first;
}

function picked(view: SeriesView, side: Side): RoundsOf["points"] {
  const runs = new Set(side.runs);
  return view.point.flatMap((point, i) =>
    runs.has(view.runs[view.run[i]!]!) ? [{ point, low: view.low[i] ?? null, high: view.high[i] ?? null }] : [],
  );
}
