// Compare: two runs, revisions, machines or backends side by side, the largest effect first.
// In the address: a and b (run:ID, revision:ID, machine:KEY, runtime:NAME), words, metric, verdict, sort, open (a series).

import { isStatic, useData, useLast, type Query } from "../api";
import { CopyLink } from "../parts/copy";
import { Fact, written } from "../parts/facts";
import { Choice } from "../parts/filters";
import { count, date, revisionShort } from "../parts/format";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { useTitle } from "../parts/title";
import { hasWords } from "../parts/words";
import { change, href } from "../route";
import type { Comparison, ComparedLine, Difference, Side, Verdict } from "../shapes";
import type { PageProps } from "../shell";
import "./compare/compare.css";
import { Sides, sideOf } from "./compare/sides";
import { ComparedTable } from "./compare/table";

const DIFFERENCE: Column<Difference>[] = [
  { name: "what", head: "Fact", cell: (one) => one.what, by: (one) => one.what, heads: true },
  { name: "before", head: "Before", cell: (one) => written(one.before, one.what.split(".").at(-1)) },
  { name: "after", head: "After", cell: (one) => written(one.after, one.what.split(".").at(-1)) },
];
const VERDICTS: readonly Verdict[] = ["worse", "better", "unclear", "same"];

export function ComparePage({ route }: PageProps) {
  const { a = "", b = "", metric } = route.query;
  const both = Boolean(sideOf(a)[1] && sideOf(b)[1]);
  const first = useData<Comparison>(both ? "compare" : null, { a, b });
  // The judged metrics come by themselves; any other is asked for, where there is somebody to ask.
  const further = metric && first.data && !isStatic && !first.data.lines.some((line) => line.metric === metric);
  const second = useData<Comparison>(further ? "compare" : null, { a, b, metric });
  const answer = useLast(further ? second : first);
  useTitle(both && answer.data ? `${answer.data.b.label} against ${answer.data.a.label}` : "Compare");
  return (
    <div class="stack">
      <div class="row">
        <h1>Compare</h1>
        <span class="push">{both && <CopyLink />}</span>
      </div>
      <Sides query={route.query} />
      {both ? (
        <Answered answer={answer}>{(comparison) => <Compared comparison={comparison} query={route.query} />}</Answered>
      ) : (
        <Empty title="Choose two sides.">
          <p>
            Two runs, two revisions, two machines or two backends: cases that both have are judged against each other.
          </p>
          <p>
            On the command line: <code>benchwright compare A B</code>
          </p>
        </Empty>
      )}
    </div>
  );
}

function Compared({ comparison, query }: { comparison: Comparison; query: Query }) {
  const { a, b, counts, notes } = comparison;
  const lines = comparison.lines.filter((line) => wanted(line, query));
  const said = VERDICTS.filter((verdict) => counts[verdict]).map((verdict) => `${counts[verdict]} ${verdict}`);
  return (
    <>
      <section class="section compared-head" aria-label="Summary">
        <h2>
          {b.label} against {a.label}: {said.join(", ") || "nothing to compare"}
        </h2>
        <dl class="facts">
          <SideFacts name="Before" side={a} />
          <SideFacts name="After" side={b} />
        </dl>
        {notes.map((note) => (
          <p key={note} class="soft">
            {note}
          </p>
        ))}
      </section>
      {comparison.lines.length > 0 ? (
        <section class="section" aria-label="Compared metrics">
          <Filters comparison={comparison} query={query} />
          <p class="soft small" role="status">
            {lines.length === comparison.lines.length
              ? count(lines.length, "line")
              : `${lines.length} of ${count(comparison.lines.length, "line")}`}
          </p>
          {lines.length ? (
            <ComparedTable lines={lines} a={a} b={b} query={query} />
          ) : (
            <Empty title="No line is left by these filters." />
          )}
        </section>
      ) : (
        <Empty title="The two sides have no case in common.">
          <p>A case is its name with its parameters; a machine or a backend that is compared is taken out of them.</p>
        </Empty>
      )}
      <Differences differences={comparison.differences} />
    </>
  );
}

function SideFacts({ name, side }: { name: string; side: Side }) {
  const newest = side.runs.at(-1);
  return (
    <Fact name={name}>
      {newest ? <a href={href("runs", [newest])}>{date(side.at)}</a> : date(side.at)}
      {side.revision && <code> {revisionShort(side.revision)}</code>}
      {side.runs.length > 1 && <span class="soft"> and {count(side.runs.length - 1, "other run")}</span>}
    </Fact>
  );
}

function wanted(line: ComparedLine, { words = "", metric, verdict }: Query): boolean {
  if ((metric && line.metric !== metric) || (verdict && line.verdict !== verdict)) return false;
  return hasWords(`${line.case} ${Object.entries(line.params).flat().join(" ")} ${line.metric} ${line.machine}`, words);
}

function Filters({ comparison, query }: { comparison: Comparison; query: Query }) {
  return (
    <div class="row filters">
      <label class="field grow">
        Search
        <input
          type="search"
          placeholder="case, parameter, metric"
          value={query["words"] ?? ""}
          onInput={(event) => change({ words: event.currentTarget.value }, true)}
        />
      </label>
      <Choice label="Metric" name="metric" query={query} options={metricsOf(comparison).map((one) => [one, one])} />
      <div class="field" role="group" aria-label="Verdict">
        Verdict
        <div class="row compared-verdicts">
          {VERDICTS.map((verdict) => (
            <button
              type="button"
              key={verdict}
              class={verdict}
              aria-pressed={query["verdict"] === verdict}
              disabled={!comparison.counts[verdict]}
              onClick={() => change({ verdict: query["verdict"] === verdict ? undefined : verdict })}
            >
              {comparison.counts[verdict] ?? 0} {verdict}
            </button>
          ))}
        </div>
      </div>
    </div>
  );
}

/** A published site has the lines that were published, no others. */
function metricsOf({ lines, metrics }: Comparison): string[] {
  return isStatic ? [...new Set(lines.map((line) => line.metric))] : metrics;
}

function Differences({ differences }: { differences: readonly Difference[] }) {
  return (
    <section class="section">
      <h2>What else differs</h2>
      {differences.length ? (
        <Table caption="Facts that differ" columns={DIFFERENCE} rows={differences} keyOf={(one) => one.what} cards />
      ) : (
        <p class="soft">Nothing: the environments of both sides are recorded alike.</p>
      )}
    </section>
  );
}
