// What is new, what got worse, what is failing, per suite and machine. An empty store shows how to begin.

import { useData } from "../api";
import { StatusBadge, Tally } from "../parts/badges";
import { CauseCard, CauseEffect, causeHref, causeName, CauseSize } from "../parts/cause";
import { Command } from "../parts/copy";
import { Fold } from "../parts/fold";
import { ago, count, date, paramsText, whole } from "../parts/format";
import { MachineNotices } from "../parts/quarantined";
import { RevisionText, RunCases, RunResults, Tags } from "../parts/runcells";
import { Spark } from "../parts/spark";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { href } from "../route";
import type { PageProps } from "../shell";
import type { CauseLine, Failing, Judging, Overview, RunLine, SuiteLine, Verdict } from "../shapes";
import "../parts/cautions.css";
import "./overview.css";

export function OverviewPage(_: PageProps) {
  const answer = useData<Overview>("overview");
  return (
    <Answered answer={answer}>
      {(data) => (data.counts["runs"] || data.runs.length ? <Present data={data} /> : <FirstVisit />)}
    </Answered>
  );
}

function Present({ data }: { data: Overview }) {
  return (
    <div class="stack overview">
      <div class="row">
        <h1>Overview</h1>
        <Counts counts={data.counts} />
      </div>
      <JudgedUntil judging={data.judging} />
      <Worse causes={data.causes.filter((cause) => cause.worse)} counts={data.counts} />
      <MachineNotices />
      {data.failing.length > 0 && <FailingNow failing={data.failing} />}
      {data.better.length > 0 && <Better causes={data.causes.filter((cause) => !cause.worse)} />}
      <Suites data={data} />
      <Newest runs={data.runs} />
    </div>
  );
}

function Counts({ counts }: { counts: { [name: string]: number } }) {
  const shown = [
    ["runs", "runs"],
    ["series", "series"],
    ["points", "series"],
    ["machines", "machines"],
  ] as const;
  return (
    <ul class="counts push">
      {shown.map(([name, page]) => (
        <li key={name}>
          <a href={href(page)}>
            <b>{whole(counts[name] ?? 0)}</b> {name}
          </a>
        </li>
      ))}
    </ul>
  );
}

// ---- how far everything is judged ----

function JudgedUntil({ judging }: { judging: Judging }) {
  const { until, waiting, since, older, failing, failing_since, troubles, trouble } = judging;
  return (
    <div class="judging small">
      <p class="soft">
        {until ? (
          <>
            Judged until run <a href={href("runs", [until])}>{until}</a>
          </>
        ) : (
          "No run is judged yet"
        )}
        {waiting > 0 && (
          <span title={`The first of them arrived ${ago(since)}, ${date(since)}`}>
            {" · "}
            <b>{whole(waiting)}</b> {waiting === 1 ? "result waits" : "results wait"}
          </span>
        )}
      </p>
      {failing && (
        <div class="caution failed" role="alert">
          <p>
            <span class="worse">Nothing has been judged</span> since {date(failing_since)}: {failing}
          </p>
        </div>
      )}
      {troubles > 0 && (
        <div class="caution">
          <p>
            {count(troubles, "series", "series")} could not be judged: {trouble}
          </p>
        </div>
      )}
      {older > 0 && (
        <p class="soft">
          {count(older, "older result")} {older === 1 ? "was" : "were"} kept before the store noted what is judged:{" "}
          <code class="nowrap">benchwright findings judge --all --anew</code> judges {older === 1 ? "it" : "them"}.
        </p>
      )}
    </div>
  );
}

// ---- changes ----

function Worse({ causes, counts }: { causes: CauseLine[]; counts: { [name: string]: number } }) {
  return (
    <section class="section" aria-labelledby="worse">
      <div class="row">
        <h2 id="worse">Regressions</h2>
        {causes.length > 0 && (
          <>
            <span class="soft">
              {count(counts["worse_causes"] ?? 0, "cause")}, {count(counts["worse"] ?? 0, "series", "series")}
            </span>
            <a href={href("findings", [], { verdict: "worse" })}>All findings</a>
          </>
        )}
      </div>
      {causes.length ? (
        <ul class="cards">
          {causes.map((cause) => (
            <CauseCard key={cause.id} cause={cause} />
          ))}
        </ul>
      ) : (
        <Empty title="No open regressions.">
          <p>Changes appear here once a series has moved by more than its noise.</p>
        </Empty>
      )}
    </section>
  );
}

function Better({ causes }: { causes: CauseLine[] }) {
  return (
    <Fold id="better" title="Improvements" count={causes.length}>
      <Table caption="Improvements" columns={BETTER} rows={causes} keyOf={(cause) => cause.id} cards />
    </Fold>
  );
}

const BETTER: Column<CauseLine>[] = [
  { name: "case", head: "Cause", heads: true, wide: true, cell: (c) => <Named cause={c} /> },
  {
    name: "spark",
    head: "Trend",
    cell: ({ lead }) => <Spark values={lead.spark} base={lead.before.point} verdict={lead.verdict} />,
  },
  { name: "effect", head: "Change", by: (c) => c.largest, cell: (c) => <CauseEffect cause={c} /> },
  {
    name: "machine",
    head: "Machine",
    cell: (c) =>
      Object.keys(c.machines).length > 1 ? count(Object.keys(c.machines).length, "machine") : c.lead.machine_name,
  },
  { name: "found", head: "Found", by: (c) => c.newest_at, cell: (c) => <span class="nowrap">{ago(c.newest_at)}</span> },
];

// ---- failing ----

function FailingNow({ failing }: { failing: Failing[] }) {
  return (
    <Fold id="failing" title="Failing" count={failing.length} open>
      <Table
        caption="Failing cases"
        columns={FAILING}
        rows={failing}
        keyOf={(f) => `${f.case} ${f.machine} ${f.status}`}
        cards
      />
    </Fold>
  );
}

const FAILING: Column<Failing>[] = [
  {
    name: "case",
    head: "Case",
    heads: true,
    by: (f) => f.case,
    cell: (f) => <a href={href("runs", [f.run])}>{f.case}</a>,
  },
  { name: "status", head: "Status", cell: (f) => <StatusBadge status={f.status} count={f.count} /> },
  { name: "reason", head: "Reason", wide: true, cell: (f) => f.reason },
  { name: "machine", head: "Machine", by: (f) => f.machine_name, cell: (f) => f.machine_name },
  { name: "at", head: "Last seen", by: (f) => f.at, cell: (f) => <span class="nowrap">{ago(f.at)}</span> },
];

// ---- suites ----

function Suites({ data }: { data: Overview }) {
  const verdicts = new Map([...data.better, ...data.worse].map((finding) => [finding.series, finding.verdict]));
  return (
    <Fold id="suites" title="Suites and machines" count={data.suites.length}>
      <Table
        caption="Suites by machine"
        columns={suiteColumns(verdicts)}
        rows={data.suites}
        keyOf={(s) => `${s.suite} ${s.machine}`}
        cards
      />
    </Fold>
  );
}

/** `verdicts` of the changes that are open, by series. */
function suiteColumns(verdicts: ReadonlyMap<string, Verdict>): Column<SuiteLine>[] {
  return [
    { name: "suite", head: "Suite", heads: true, by: (s) => s.suite, cell: (s) => <SuiteLink suite={s} /> },
    {
      name: "machine",
      head: "Machine",
      by: (s) => s.machine_name,
      cell: (s) => <span class="soft">{s.machine_name}</span>,
    },
    { name: "series", head: "Series", number: true, by: (s) => s.series, cell: (s) => whole(s.series) },
    {
      name: "worse",
      head: "Worse",
      number: true,
      by: (s) => s.worse,
      cell: (s) => <Tally of={s.worse} kind="worse" />,
    },
    {
      name: "better",
      head: "Better",
      number: true,
      by: (s) => s.better,
      cell: (s) => <Tally of={s.better} kind="better" />,
    },
    {
      name: "failing",
      head: "Failing",
      number: true,
      by: (s) => s.failing,
      cell: (s) => <Tally of={s.failing} kind="worse" />,
    },
    { name: "last", head: "Last run", by: (s) => s.last_at, cell: (s) => <span class="nowrap">{ago(s.last_at)}</span> },
    { name: "sparks", head: "Trend", cell: (s) => <Sparks suite={s} verdicts={verdicts} /> },
  ];
}

function SuiteLink({ suite: { suite, machine } }: { suite: SuiteLine }) {
  return <a href={href("series", [], { words: suite, machine })}>{suite}</a>;
}

function Sparks({ suite, verdicts }: { suite: SuiteLine; verdicts: ReadonlyMap<string, Verdict> }) {
  return (
    <ul class="sparks">
      {suite.sparks.slice(0, 3).map((line) => {
        const name = `${line.case} ${paramsText(line.params)} ${line.metric}`;
        return (
          <li key={line.key}>
            <a href={href("series", [line.key])} title={name} aria-label={name}>
              <Spark values={line.spark} verdict={verdicts.get(line.key)} />
            </a>
          </li>
        );
      })}
    </ul>
  );
}

// ---- runs ----

function Newest({ runs }: { runs: RunLine[] }) {
  return (
    <Fold id="newest" title="Latest runs" count={runs.length} aside={<a href={href("runs")}>All runs</a>}>
      <Table caption="Latest runs" columns={RUNS} rows={runs} keyOf={(run) => run.id} cards />
    </Fold>
  );
}

const RUNS: Column<RunLine>[] = [
  {
    name: "at",
    head: "Started",
    heads: true,
    cell: (r) => (
      <a class="nowrap" href={href("runs", [r.id])}>
        {date(r.started_at)}
      </a>
    ),
  },
  { name: "cases", head: "Cases", wide: true, cell: (r) => <RunCases run={r} /> },
  { name: "results", head: "Results", number: true, cell: (r) => <RunResults run={r} /> },
  { name: "failed", head: "Failed", number: true, cell: (r) => <Tally of={r.failed} kind="worse" /> },
  { name: "tags", head: "Tags", cell: (r) => r.tags.length > 0 && <Tags tags={r.tags} /> },
  { name: "revision", head: "Revision", cell: (r) => r.revision && <RevisionText revision={r.revision} /> },
];

function Named({ cause }: { cause: CauseLine }) {
  return (
    <span>
      <a href={causeHref(cause)}>{causeName(cause)}</a>{" "}
      <span class="soft small">
        <CauseSize cause={cause} />
      </span>
    </span>
  );
}

// ---- nothing yet ----

function FirstVisit() {
  const here = location.origin === "null" ? "http://127.0.0.1:8765/" : `${location.origin}${location.pathname}`;
  return (
    <div class="stack first">
      <h1>Nothing has been measured yet</h1>
      <p>This page shows new runs, regressions and failures. It fills with the first run.</p>
      <ol class="steps">
        <li>
          <h2>Measure something</h2>
          <p class="soft">A model file, a class, a command or an address; several runtimes give a comparison.</p>
          <Command text="benchwright run model.onnx --runtime onnxruntime,openvino --batch-size 1,8" />
        </li>
        <li>
          <h2>Send results from other machines</h2>
          <p class="soft">The same commands over HTTP. Where the server requires tokens, create one for each sender.</p>
          <Command text="benchwright token create ci --scope write" />
          <Command text={`benchwright run model.onnx --store ${here}`} />
        </li>
        <li>
          <h2>Watch a repository</h2>
          <p class="soft">Every new commit is built, measured and judged; changes appear here with their culprit.</p>
          <Command text="benchwright watch" />
        </li>
      </ol>
      <p class="soft">
        <kbd>?</kbd> shows the keyboard shortcuts.
      </p>
    </div>
  );
}
