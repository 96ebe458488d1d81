// What lies behind one line of a comparison: how the calls of both sides are spread, the rounds, and the operators.
//   <ComparedMore line={line} a={side} b={side} />

import { useState } from "preact/hooks";
import { useData } from "../../api";
import { href } from "../../route";
import type { ComparedLine, Distribution, ResultView, SeriesView, Side } from "../../shapes";
import { Distributions, type Shown } from "../../parts/distribution";
import { OperatorDiff } from "./operators";
import { RoundsPlot, type RoundsOf } from "./rounds";
import { Problem, Waiting } from "../../parts/states";

interface Props {
  line: ComparedLine;
  a: Side;
  b: Side;
}

export function ComparedMore({ line, a, b }: Props) {
  const before = useData<ResultView>(line.before_result ? `results/${encodeURIComponent(line.before_result)}` : null);
  const after = useData<ResultView>(line.after_result ? `results/${encodeURIComponent(line.after_result)}` : null);
  const error = before.error ?? after.error;
  if (error !== undefined) return <Problem error={error} />;
  if ((line.before_result && !before.data) || (line.after_result && !after.data)) return <Waiting />;
  return (
    <div class="compared-more">
      <Links line={line} />
      <Spreads line={line} before={before.data} after={after.data} />
      <RoundsOfBoth line={line} a={a} b={b} />
      {before.data && after.data && <OperatorDiff before={before.data} after={after.data} />}
    </div>
  );
}

function Links({ line }: { line: ComparedLine }) {
  return (
    <p class="row">
      {line.series.length > 0 && <a href={href("series", [line.series.join(",")])}>History</a>}
      {line.before_result && <a href={href("results", [line.before_result])}>Result before</a>}
      {line.after_result && <a href={href("results", [line.after_result])}>Result after</a>}
    </p>
  );
}

function Spreads({
  line,
  before,
  after,
}: {
  line: ComparedLine;
  before: ResultView | undefined;
  after: ResultView | undefined;
}) {
  const [log, setLog] = useState(false);
  const [whole, setWhole] = useState(false);
  const column = columnOf(line, [...(before?.distributions ?? []), ...(after?.distributions ?? [])]);
  const shown = [named("before", 0, before, column), named("after", 1, after, column)].flatMap((one) => one ?? []);
  if (!shown.length)
    return <p class="soft">The calls of these results were not kept, so there is no distribution to draw.</p>;
  return (
    <section>
      <div class="row">
        <h3>Calls of one round on each side</h3>
        <button type="button" aria-pressed={log} onClick={() => setLog(!log)}>
          Log scale
        </button>
        <button type="button" aria-pressed={whole} onClick={() => setWhole(!whole)}>
          Whole range
        </button>
      </div>
      <Distributions shown={shown} log={log} whole={whole} />
      {shown.length === 1 && <p class="soft small">The calls of the other side were not kept.</p>}
    </section>
  );
}

function named(name: string, tone: number, result: ResultView | undefined, column: string): Shown | undefined {
  const distribution = result?.distributions.find((d) => d.column === column);
  return distribution && { name, tone, distribution };
}

/** The column that the metric was made of: `service_p99` of `service`; otherwise the first. */
function columnOf(line: ComparedLine, all: readonly Distribution[]): string {
  return (all.find((d) => line.metric.startsWith(d.column)) ?? all[0])?.column ?? "";
}

/** Points of a series are results, and results are rounds: those of the compared runs are picked out. */
function RoundsOfBoth({ line, a, b }: Props) {
  const [first = "", second = first] = line.series;
  const one = useData<SeriesView>(first ? `series/${encodeURIComponent(first)}` : null, { unit: line.unit }).data;
  const two = useData<SeriesView>(second && second !== first ? `series/${encodeURIComponent(second)}` : null, {
    unit: line.unit,
  }).data;
  const rounds: RoundsOf[] = [
    { name: "before", points: one ? picked(one, a) : [] },
    { name: "after", points: first === second ? (one ? picked(one, b) : []) : two ? picked(two, b) : [] },
  ];
  return rounds.some((side) => side.points.length > 1) ? (
    <RoundsPlot rounds={rounds} metric={line.metric} unit={line.unit} />
  ) : null;
}

function picked(view: SeriesView, side: Side): RoundsOf["points"] {
  const runs = new Set(side.runs);
  return view.point.flatMap((point, i) =>
    runs.has(view.runs[view.run[i]!]!) ? [{ point, low: view.low[i] ?? null, high: view.high[i] ?? null }] : [],
  );
}
