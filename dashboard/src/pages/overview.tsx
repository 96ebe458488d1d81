// What is new, what got worse, what is failing, per suite and machine. An empty store shows how to begin.

import { useData } from "../api";
import { Effect, StatusBadge, Tally } from "../parts/badges";
import { Command } from "../parts/copy";
import { ago, count, date, estimate, paramsText, probability, revisionShort, whole } from "../parts/format";
import { caseNames, RevisionText, Tags } from "../parts/runcells";
import { Spark } from "../parts/spark";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { href } from "../route";
import type { PageProps } from "../shell";
import type { Failing, FindingLine, Overview, RunLine, SuiteLine, Verdict } from "../shapes";
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
      <Worse findings={data.worse} />
      {data.failing.length > 0 && <FailingNow failing={data.failing} />}
      {data.better.length > 0 && <Better findings={data.better} />}
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

// ---- changes ----

function Worse({ findings }: { findings: FindingLine[] }) {
  return (
    <section class="section" aria-labelledby="worse">
      <div class="row">
        <h2 id="worse">Got worse</h2>
        {findings.length > 0 && <a href={href("findings", [], { verdict: "worse" })}>All findings</a>}
      </div>
      {findings.length ? (
        <ul class="cards">
          {findings.map((finding) => (
            <WorseCard key={finding.id} finding={finding} />
          ))}
        </ul>
      ) : (
        <Empty title="Nothing got worse.">
          <p>No finding is open. Changes appear here once a series has moved by more than its noise.</p>
        </Empty>
      )}
    </section>
  );
}

function WorseCard({ finding }: { finding: FindingLine }) {
  const { effect, unit, verdict, culprit } = finding;
  return (
    <li class="card">
      <h3>
        <a href={href("findings", [finding.id])}>{finding.case}</a>
      </h3>
      <p class="soft small">{about(finding)}</p>
      <Spark
        values={finding.spark}
        base={finding.before.point}
        verdict={verdict}
        label={`${count(finding.spark.length, "value")} around the change; dotted: as it was before`}
        wide
      />
      <p class="row tight">
        <Effect effect={effect} unit={unit} verdict={verdict} />
        <span class="soft small push">
          {estimate(finding.before, unit)} → {estimate(finding.after, unit)}
        </span>
      </p>
      <p class="small culprit">
        {culprit ? (
          <>
            <code>{revisionShort(culprit.revision)}</code> <span class="clip">{culprit.subject}</span>
            <span class="soft push nowrap">{probability(culprit.probability)} sure</span>
          </>
        ) : (
          <span class="soft">no commit is known</span>
        )}
      </p>
      <p class="soft small row tight">
        <span class="clip">{finding.machine_name}</span>
        <span class="push nowrap" title={date(finding.found_at)}>
          {ago(finding.found_at)}
        </span>
      </p>
    </li>
  );
}

function Better({ findings }: { findings: FindingLine[] }) {
  return (
    <section class="section" aria-labelledby="better">
      <h2 id="better">Got better</h2>
      <Table caption="What got better" columns={BETTER} rows={findings} keyOf={(finding) => finding.id} cards />
    </section>
  );
}

const BETTER: Column<FindingLine>[] = [
  { name: "case", head: "Case", heads: true, wide: true, cell: (f) => <Named finding={f} /> },
  { name: "metric", head: "Metric", cell: (f) => f.metric },
  { name: "spark", head: "Lately", cell: (f) => <Spark values={f.spark} base={f.before.point} verdict={f.verdict} /> },
  {
    name: "effect",
    head: "Change",
    by: (f) => f.effect.point,
    cell: (f) => <Effect effect={f.effect} unit={f.unit} verdict={f.verdict} />,
  },
  { name: "machine", head: "Machine", by: (f) => f.machine_name, cell: (f) => f.machine_name },
  { name: "found", head: "Found", by: (f) => f.found_at, cell: (f) => <span class="nowrap">{ago(f.found_at)}</span> },
];

// ---- failing ----

function FailingNow({ failing }: { failing: Failing[] }) {
  return (
    <section class="section" aria-labelledby="failing">
      <h2 id="failing">Failing</h2>
      <Table
        caption="What gives no numbers"
        columns={FAILING}
        rows={failing}
        keyOf={(f) => `${f.case} ${f.machine} ${f.status}`}
        cards
      />
    </section>
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
  { name: "reason", head: "Why", wide: true, cell: (f) => f.reason },
  { name: "machine", head: "Machine", by: (f) => f.machine_name, cell: (f) => f.machine_name },
  { name: "at", head: "Last", by: (f) => f.at, cell: (f) => <span class="nowrap">{ago(f.at)}</span> },
];

// ---- suites ----

function Suites({ data }: { data: Overview }) {
  const verdicts = new Map([...data.better, ...data.worse].map((finding) => [finding.series, finding.verdict]));
  return (
    <section class="section" aria-labelledby="suites">
      <h2 id="suites">Suites and machines</h2>
      <Table
        caption="Suites by machine"
        columns={suiteColumns(verdicts)}
        rows={data.suites}
        keyOf={(s) => `${s.suite} ${s.machine}`}
        cards
      />
    </section>
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
    { name: "last", head: "Last", by: (s) => s.last_at, cell: (s) => <span class="nowrap">{ago(s.last_at)}</span> },
    { name: "sparks", head: "Lately", cell: (s) => <Sparks suite={s} verdicts={verdicts} /> },
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
    <section class="section" aria-labelledby="newest">
      <div class="row">
        <h2 id="newest">Newest runs</h2>
        <a href={href("runs")}>All runs</a>
      </div>
      <Table caption="Newest runs" columns={RUNS} rows={runs} keyOf={(run) => run.id} cards />
    </section>
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
  { name: "cases", head: "Cases", wide: true, cell: (r) => caseNames(r.cases) },
  { name: "results", head: "Results", number: true, cell: (r) => r.results },
  { name: "failed", head: "Failed", number: true, cell: (r) => <Tally of={r.failed} kind="worse" /> },
  { name: "tags", head: "Tags", cell: (r) => r.tags.length > 0 && <Tags tags={r.tags} /> },
  { name: "revision", head: "Revision", cell: (r) => r.revision && <RevisionText revision={r.revision} /> },
];

function about(finding: FindingLine): string {
  return [finding.metric, paramsText(finding.params)].filter(Boolean).join(" · ");
}

function Named({ finding }: { finding: FindingLine }) {
  return (
    <span>
      <a href={href("findings", [finding.id])}>{finding.case}</a>{" "}
      <span class="soft small">{paramsText(finding.params)}</span>
    </span>
  );
}

// ---- nothing yet ----

function FirstVisit() {
  const here = location.origin === "null" ? "http://127.0.0.1:8765/" : `${location.origin}${location.pathname}`;
  return (
    <div class="stack first">
      <h1>Nothing has been measured yet</h1>
      <p>This page shows what is new, what got worse and what fails. It fills as soon as there is a run.</p>
      <ol class="steps">
        <li>
          <h2>Measure something</h2>
          <p class="soft">A model file, a class, a command or an address; several runtimes give a comparison.</p>
          <Command text="benchwright run model.onnx --runtime onnxruntime,openvino --batch-size 1,8" />
        </li>
        <li>
          <h2>Send results here from anywhere</h2>
          <p class="soft">The same verbs over HTTP. A server that asks for tokens gives one per sender.</p>
          <Command text="benchwright token create ci --scope write" />
          <Command text={`benchwright run model.onnx --store ${here}`} />
        </li>
        <li>
          <h2>Follow a repository</h2>
          <p class="soft">Every new commit is built, measured and judged; changes appear here with their culprit.</p>
          <Command text="benchwright watch" />
        </li>
      </ol>
      <p class="soft">
        <kbd>?</kbd> shows the keys of every page.
      </p>
    </div>
  );
}
