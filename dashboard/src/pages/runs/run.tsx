// One run: what was measured, what it cost to trust it, and the command that repeats it.
// In the address: all (every metric), words and sort (cases), open (labels of cases), metric (of the drawing),
// across and up (metrics of a race's drawing).

import { isStatic, type Answer } from "../../api";
import { Failed, Warnings, type Warned } from "../../parts/cautions";
import { CasePlot } from "./caseplot";
import { Leases } from "./leases";
import { ByMachine } from "./machines";
import { Race } from "./race";
import { SpeedUps } from "./speedups";
import { Sweeps } from "./sweeps";
import { CaseTable } from "../../parts/casetable";
import { Command, CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import { count } from "../../parts/format";
import { usePages } from "../../parts/pages";
import { PriceBases } from "../../parts/prices";
import { Quarantined } from "../../parts/quarantined";
import { caseNames, RevisionText, Tags } from "../../parts/runcells";
import { Answered, Empty } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { change, href } from "../../route";
import type { Revision, RunView, WarnedCases } from "../../shapes";

export function RunPage({ reference, query }: { reference: string; query: { [name: string]: string } }) {
  const asked = isStatic ? {} : { words: query.words, sort: query.sort };
  const { pages, error, more } = usePages<RunView>(`runs/${encodeURIComponent(reference)}`, asked);
  const first = pages[0];
  const data = first && { ...first, cases: pages.flatMap((page) => page.cases) };
  const answer: Answer<RunView> = { waiting: !first && !error, ...(data ? { data } : error ? { error } : {}) };
  return (
    <Answered answer={more ? { ...answer, retry: more } : answer}>
      {(run) => <Shown run={run} query={query} next={isStatic ? undefined : more} />}
    </Answered>
  );
}

function Shown({
  run,
  query,
  next,
}: {
  run: RunView;
  query: { [name: string]: string };
  next: (() => void) | undefined;
}) {
  useTitle(`Run ${run.line.id}`);
  const warned = run.warned.map((one) => warnedCases(one, run.case_count));
  const failed = run.failing;
  const missing = run.line.planned - run.line.results;
  return (
    <div class="stack">
      <Head run={run} />
      {missing > 0 && (
        <p class="caution" role="note">
          {count(missing, "result")} of {run.line.planned} planned {missing === 1 ? "is" : "are"} missing: the run was
          stopped or is still in progress.
        </p>
      )}
      {Object.entries(run.quarantines).map(([key, line]) => (
        <Quarantined key={key} line={line} machine={key} name={run.machines[key] ?? ""} />
      ))}
      <Race run={run} query={query} />
      <ByMachine run={run.line.id} table={run.by_machine} />
      <section class="section">
        <h2>Cases</h2>
        {run.case_count ? (
          <CaseTable run={run} query={query} next={next} />
        ) : (
          <Empty title="This run has no results." />
        )}
        <PriceBases prices={run.prices} />
      </section>
      <Leases run={run} />
      <Asked run={run} />
      <SpeedUps speedups={run.speedups} />
      <Sweeps sweeps={run.sweeps} />
      <WhichToChoose run={run} />
      <AtAGlance run={run} metric={query.metric ?? ""} />
      {(warned.length > 0 || failed.length > 0) && (
        <section class="section">
          <h2>Warnings and notes</h2>
          <div class="cautions">
            {failed.map((line) => (
              <Failed key={line.label} name={line.label} result={line.result} failure={line.failure} />
            ))}
            <Warnings warned={warned} />
          </div>
        </section>
      )}
      {run.command.length > 0 && (
        <section class="section">
          <h2>Command to reproduce</h2>
          <Command text={run.command} />
        </section>
      )}
    </div>
  );
}

/** What was asked of the run, and what came of it: requests, objectives, rates of open loops, goals of trainings. */
function Asked({ run }: { run: RunView }) {
  if (!run.objectives.length && !run.rates.length && !run.requests.length && !run.training.length) return null;
  const asked = run.objectives.length + run.rates.length;
  const title = asked ? "Objectives and rates" : run.requests.length ? "Requests" : "Goals and warm-up";
  return (
    <section class="section">
      <h2>{title}</h2>
      <ul>
        {run.requests.map((said, i) => (
          <li key={said} class={i ? "worse" : ""}>
            {said}
          </li>
        ))}
        {run.objectives.map(({ objective, met, verdict }) => (
          <li key={objective}>
            {objective}: <span class={met ? "better" : "worse"}>{verdict}</span>
          </li>
        ))}
        {run.rates.map((rate) => (
          <li key={rate}>Rate of {rate}</li>
        ))}
        {run.training.map((said) => (
          <li key={said}>{said}</li>
        ))}
      </ul>
    </section>
  );
}

/** What the HTML report says, too: which case is best for what, and which cannot be told from it. */
function WhichToChoose({ run }: { run: RunView }) {
  if (!run.advice.length) return null;
  return (
    <section class="section">
      <h2>Which to choose</h2>
      {run.cautions.map((said) => (
        <p key={said} class="caution" role="note">
          {said}
        </p>
      ))}
      <ul class="run-advice">
        {run.advice.map(({ aim, text }) => {
          const end = text.indexOf(aim) + aim.length; // before it stands the model, where there are several
          return (
            <li key={text}>
              <strong>{text.slice(0, end)}</strong>
              {text.slice(end)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** One metric of all cases side by side; a single case has nothing beside it. */
function AtAGlance({ run, metric }: { run: RunView; metric: string }) {
  const names = run.metrics;
  const shown = names.includes(metric) ? metric : (names[0] ?? "");
  if (!shown || run.case_count < 2) return null;
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
  return (
    <header class="stack-tight">
      <p class="small">
        <a href={href("runs")}>Runs</a>
      </p>
      <div class="row">
        <h1>{caseNames(line) || "Empty run"}</h1>
        <span class="row push">
          {run.previous && (
            <a href={href("compare", [], { a: `run:${run.previous}`, b: `run:${line.id}` })}>
              Compare with the previous run
            </a>
          )}
          {run.baseline && (
            <a href={href("compare", [], { a: `run:${run.baseline}`, b: `run:${line.id}` })}>
              Compare with the baseline
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

function warnedCases({ warning, cases, count: seen }: WarnedCases, all: number): Warned {
  if (seen === all && all > 1) return { warning, cases: ["every case"] };
  return { warning, cases: seen > cases.length ? [...cases, `${seen - cases.length} more`] : cases };
}
