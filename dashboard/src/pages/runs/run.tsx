// One run: what was measured, what it cost to trust it, and the command that repeats it.
// In the address: all (every metric), words (cases), open (labels of cases), metric (of the drawing).

import { useData } from "../../api";
import { Failed, Warnings, type Warned } from "../../parts/cautions";
import { CasePlot } from "./caseplot";
import { CaseTable, metricNames } from "../../parts/casetable";
import { Command, CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import { count } from "../../parts/format";
import { caseNames, RevisionText, Tags } from "../../parts/runcells";
import { Answered, Empty } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { change, href } from "../../route";
import type { CaseLine, Revision, RunView } from "../../shapes";

export function RunPage({ reference, query }: { reference: string; query: { [name: string]: string } }) {
  const answer = useData<RunView>(`runs/${encodeURIComponent(reference)}`);
  return <Answered answer={answer}>{(run) => <Shown run={run} query={query} />}</Answered>;
}

function Shown({ run, query }: { run: RunView; query: { [name: string]: string } }) {
  useTitle(`Run ${run.line.id}`);
  const warned = warnings(run.cases);
  const failed = run.cases.filter((line) => line.failures.length);
  const missing = run.line.planned - run.line.results;
  return (
    <div class="stack">
      <Head run={run} />
      {missing > 0 && (
        <p class="caution" role="note">
          {count(missing, "result")} of {run.line.planned} planned {missing === 1 ? "is" : "are"} missing: the run was
          stopped or is still under way.
        </p>
      )}
      <section class="section">
        <h2>Cases</h2>
        {run.cases.length ? (
          <CaseTable cases={run.cases} query={query} />
        ) : (
          <Empty title="Nothing was measured in this run." />
        )}
      </section>
      <Asked run={run} />
      <AtAGlance run={run} metric={query.metric ?? ""} />
      {(warned.length > 0 || failed.length > 0) && (
        <section class="section">
          <h2>Before you trust these numbers</h2>
          <div class="cautions">
            {failed.map((line) => (
              <Failed key={line.label} name={line.label} result={line.results[0]} failure={line.failures[0]!} />
            ))}
            <Warnings warned={warned} />
          </div>
        </section>
      )}
      {run.command.length > 0 && (
        <section class="section">
          <h2>To repeat it</h2>
          <Command text={run.command} />
        </section>
      )}
    </div>
  );
}

/** What was asked of the run, and what came of it: objectives, and rates of open loops. */
function Asked({ run }: { run: RunView }) {
  if (!run.objectives.length && !run.rates.length) return null;
  return (
    <section class="section">
      <h2>Asked for</h2>
      <ul>
        {run.objectives.map(({ objective, met, verdict }) => (
          <li key={objective}>
            {objective}: <span class={met ? "better" : "worse"}>{verdict}</span>
          </li>
        ))}
        {run.rates.map((rate) => (
          <li key={rate}>Rate of {rate}</li>
        ))}
      </ul>
    </section>
  );
}

/** One metric of all cases side by side; a single case has nothing beside it. */
function AtAGlance({ run, metric }: { run: RunView; metric: string }) {
  const names = metricNames(run.cases);
  const shown = names.includes(metric) ? metric : (names[0] ?? "");
  if (!shown || run.cases.length < 2) return null;
  return (
    <section class="section">
      <div class="row">
        <h2>Side by side</h2>
        <select
          aria-label="Metric"
          value={shown}
          onChange={(event) => change({ metric: event.currentTarget.value }, true)}
        >
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <div class="panel">
        <CasePlot cases={run.cases} metric={shown} />
      </div>
    </section>
  );
}

function Head({ run }: { run: RunView }) {
  const { line } = run;
  const cases = [...new Set(run.cases.map((one) => one.case))];
  return (
    <header class="stack-tight">
      <p class="small">
        <a href={href("runs")}>Runs</a>
      </p>
      <div class="row">
        <h1>{caseNames(cases) || "An empty run"}</h1>
        <span class="row push">
          {run.previous && (
            <a href={href("compare", [], { a: `run:${run.previous}`, b: `run:${line.id}` })}>
              Compare with the previous run
            </a>
          )}
          {run.baseline && (
            <a href={href("compare", [], { a: `run:${run.baseline}`, b: `run:${line.id}` })}>
              Compare with its baseline
            </a>
          )}
          <CopyLink />
        </span>
      </div>
      <RunFacts run={run} />
    </header>
  );
}

function RunFacts({ run }: { run: RunView }) {
  const { line } = run;
  return (
    <dl class="facts">
      <Fact name="Run">{line.id}</Fact>
      <Fact name="Started">
        <When at={line.started_at} />
      </Fact>
      <Fact name="Results">
        {line.results}
        {line.failed > 0 && <span class="worse"> · {line.failed} failed</span>}
      </Fact>
      {line.revision && (
        <Fact name="Revision">
          <RevisionText revision={line.revision} linked /> <span class="soft">{about(line.revision)}</span>
        </Fact>
      )}
      <Fact name={Object.keys(run.machines).length > 1 ? "Machines" : "Machine"}>
        {Object.entries(run.machines).map(([key, name], i) => (
          <span key={key}>
            {i > 0 && ", "}
            <a href={href("runs", [], { machine: key })}>{name || key.slice(0, 12)}</a>
          </span>
        ))}
      </Fact>
      {line.tags.length > 0 && (
        <Fact name="Tags">
          <Tags tags={line.tags} />
        </Fact>
      )}
      {run.reason && <Fact name="Reason">{run.reason}</Fact>}
      {run.baseline && (
        <Fact name="Baseline">
          <a href={href("runs", [run.baseline])}>{run.baseline}</a>
        </Fact>
      )}
      <Fact name="Benchwright">{run.harness}</Fact>
    </dl>
  );
}

function about({ author, branch }: Revision): string {
  return [author && `by ${author}`, branch && `on ${branch}`].filter(Boolean).join(" ");
}

/** Each warning once, with the cases it was seen in. */
function warnings(cases: readonly CaseLine[]): Warned[] {
  const known = new Map<string, { warning: Warned["warning"]; cases: string[] }>();
  for (const line of cases)
    for (const warning of line.warnings) {
      const key = `${warning.code} ${warning.seen}`;
      const entry = known.get(key) ?? { warning, cases: [] };
      if (!entry.cases.includes(line.label)) entry.cases.push(line.label);
      known.set(key, entry);
    }
  return [...known.values()].map((entry) =>
    entry.cases.length === cases.length && cases.length > 1 ? { ...entry, cases: ["every case"] } : entry,
  );
}
