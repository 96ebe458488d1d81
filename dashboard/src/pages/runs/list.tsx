// The newest runs first, filtered and paged.
// In the address: case, tag, revision, machine, before (the page after that run), pick (runs to compare).

import { isStatic, useData, type Query } from "../../api";
import { Tally } from "../../parts/badges";
import { Choice } from "../../parts/filters";
import { caseNames, RevisionText, Tags } from "../../parts/runcells";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { When } from "../../parts/when";
import { change, href } from "../../route";
import type { RunLine, RunsPage, SeriesPage } from "../../shapes";

const FILTERS = ["case", "tag", "revision", "machine"] as const;

export function RunList({ query }: { query: Query }) {
  const { case: name, tag, revision, machine, before } = query;
  const answer = useData<RunsPage>("runs", { case: name, tag, revision, machine, before });
  const filtered = FILTERS.some((filter) => query[filter]);
  return (
    <div class="stack">
      <h1>Runs</h1>
      {(filtered || answer.data === undefined || answer.data.runs.length > 0) && <Filters query={query} />}
      <Picked query={query} />
      <Answered answer={answer}>{(page) => <Listed page={page} query={query} filtered={filtered} />}</Answered>
    </div>
  );
}

function Listed({ page, query, filtered }: { page: RunsPage; query: Query; filtered: boolean }) {
  const shown = isStatic ? page.runs.filter((run) => wanted(run, query)) : page.runs;
  if (!shown.length) return <None filtered={filtered} />;
  return (
    <section class="section" aria-label="Runs">
      <Table caption="Runs, the newest first" columns={columns(query)} rows={shown} keyOf={(run) => run.id} cards />
      <nav class="row runs-pages" aria-label="Pages">
        {query["before"] && <a href={href("runs", [], { ...query, before: undefined })}>Newest</a>}
        {page.next && <a href={href("runs", [], { ...query, before: page.next })}>Older</a>}
      </nav>
    </section>
  );
}

function None({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No run fits these filters." />
  ) : (
    <Empty title="There are no runs yet.">
      <p>
        Measure something: <code>benchwright run model.onnx</code>
      </p>
    </Empty>
  );
}

/** A published site has one list; a server filters by itself. */
function wanted(run: RunLine, { case: name, tag, revision }: Query): boolean {
  return (
    (!name || run.cases.includes(name)) &&
    (!tag || run.tags.includes(tag)) &&
    (!revision || (run.revision?.id ?? "").startsWith(revision))
  );
}

function Filters({ query }: { query: Query }) {
  const known = useData<SeriesPage>("series", { limit: "1" }).data;
  return (
    <form class="row filters" role="search" aria-label="Filter runs" onSubmit={(event) => event.preventDefault()}>
      <Choice label="Case" name="case" query={query} options={known?.cases.map((one) => [one, one]) ?? []} />
      {!isStatic && (
        <Choice label="Machine" name="machine" query={query} options={Object.entries(known?.machines ?? {})} />
      )}
      <Text label="Tag" name="tag" query={query} />
      <Text label="Revision" name="revision" query={query} />
    </form>
  );
}

/** Has to be whole before it means anything, so that the address follows once it is entered. */
function Text({ label, name, query }: { label: string; name: string; query: Query }) {
  return (
    <label class="field">
      {label}
      <input
        type="search"
        value={query[name] ?? ""}
        onChange={(event) => change({ [name]: event.currentTarget.value.trim(), before: undefined })}
      />
    </label>
  );
}

function columns(query: Query): Column<RunLine>[] {
  const picked = pickedRuns(query);
  const pick: Column<RunLine> = {
    name: "pick",
    head: "Compare",
    tick: true,
    cell: (run) => <PickBox run={run} picked={picked} />,
  };
  return [
    ...(isStatic ? [] : [pick]), // a published site has the comparisons that pages link to, not every pair
    { name: "run", head: "Run", heads: true, cell: (run) => <RunLink run={run} /> },
    { name: "cases", head: "Cases", wide: true, cell: (run) => caseNames(run.cases) },
    { name: "results", head: "Results", number: true, by: (run) => run.results, cell: (run) => <Results run={run} /> },
    {
      name: "failed",
      head: "Failed",
      number: true,
      by: (run) => run.failed,
      cell: (run) => <Tally of={run.failed} kind="worse" />,
    },
    { name: "tags", head: "Tags", cell: (run) => run.tags.length > 0 && <Tags tags={run.tags} /> },
    { name: "revision", head: "Revision", cell: (run) => <RevisionText revision={run.revision} /> },
  ];
}

function RunLink({ run }: { run: RunLine }) {
  return (
    <span class="runs-link">
      <a href={href("runs", [run.id])}>
        <When at={run.started_at} />
      </a>
      <span class="soft small">{run.id}</span>
    </span>
  );
}

/** A run that was stopped has fewer than were planned. */
function Results({ run }: { run: RunLine }) {
  if (run.planned <= run.results) return <>{run.results}</>;
  return (
    <span class="unclear">
      {run.results} of {run.planned}
    </span>
  );
}

// ---- two runs to compare ----

function pickedRuns(query: Query): string[] {
  return (query["pick"] ?? "").split(",").filter(Boolean);
}

function PickBox({ run, picked }: { run: RunLine; picked: readonly string[] }) {
  const on = picked.includes(run.id);
  const next = on ? picked.filter((id) => id !== run.id) : [...picked, run.id].slice(-2);
  return (
    <input
      type="checkbox"
      checked={on}
      aria-label={`Compare ${run.id}`}
      onChange={() => change({ pick: next.join(",") }, true)}
    />
  );
}

/** Ids sort by time: the older run is the one before. */
function Picked({ query }: { query: Query }) {
  const [a, b] = pickedRuns(query).sort();
  if (!a) return null;
  if (!b) return <p class="soft">Tick a second run to compare it with {a}.</p>;
  return (
    <p>
      <a href={href("compare", [], { a: `run:${a}`, b: `run:${b}` })}>
        Compare {b} with {a}
      </a>
    </p>
  );
}
