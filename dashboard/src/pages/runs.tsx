// Runs: the newest first, filtered and paged; `#/runs/ID` is one of them.
// In the address: case, tag, revision, machine, before (the page after that run), pick (runs to compare).

import { isStatic, useData } from "../api";
import { Table, type Column } from "../parts/table";
import { revisionShort } from "../parts/format";
import { Answered, Empty } from "../parts/states";
import { When } from "../parts/when";
import { change, href } from "../route";
import type { RunLine, RunsPage as RunsAnswer, SeriesPage } from "../shapes";
import type { PageProps } from "../shell";
import { RunPage } from "./run";
import "./runs.css";

type Query = { [name: string]: string };

const CASES = 3; // named in a line
const FILTERS = ["case", "tag", "revision", "machine"] as const;

export function RunsPage({ route }: PageProps) {
  return route.parts[0] ? <RunPage reference={route.parts[0]} query={route.query} /> : <RunList query={route.query} />;
}

function RunList({ query }: { query: Query }) {
  const { case: name, tag, revision, machine, before } = query;
  const answer = useData<RunsAnswer>("runs", { case: name, tag, revision, machine, before });
  const filtered = FILTERS.some((filter) => query[filter]);
  return (
    <div class="stack">
      <h1>Runs</h1>
      <Filters query={query} />
      <Picked query={query} />
      <Answered answer={answer}>
        {({ runs, next }) => {
          const shown = isStatic ? runs.filter((run) => wanted(run, query)) : runs;
          if (!shown.length) return <None filtered={filtered} />;
          return (
            <section class="section" aria-label="Runs">
              <Table
                caption="Runs, the newest first"
                columns={columns(query)}
                rows={shown}
                keyOf={(run) => run.id}
                cards
              />
              <nav class="row runs-pages" aria-label="Pages">
                {before && <a href={href("runs", [], { ...query, before: undefined })}>Newest</a>}
                {next && <a href={href("runs", [], { ...query, before: next })}>Older</a>}
              </nav>
            </section>
          );
        }}
      </Answered>
    </div>
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
  const set = (name: string) => (event: Event) =>
    change({ [name]: (event.currentTarget as HTMLInputElement).value.trim(), before: undefined });
  return (
    <form class="row runs-filters" role="search" aria-label="Filter runs" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        Case
        <select value={query.case ?? ""} onChange={set("case")}>
          <option value="">all</option>
          {known?.cases.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {!isStatic && (
        <label class="field">
          Machine
          <select value={query.machine ?? ""} onChange={set("machine")}>
            <option value="">all</option>
            {Object.entries(known?.machines ?? {}).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        Tag
        <input type="search" value={query.tag ?? ""} onChange={set("tag")} />
      </label>
      <label class="field">
        Revision
        <input type="search" value={query.revision ?? ""} onChange={set("revision")} />
      </label>
    </form>
  );
}

function columns(query: Query): Column<RunLine>[] {
  const picked = pickedRuns(query);
  const pick: Column<RunLine> = { name: "pick", head: "compare", cell: (run) => <PickBox run={run} picked={picked} /> };
  return [
    ...(isStatic ? [] : [pick]), // a published site has the comparisons that pages link to, not every pair
    { name: "run", head: "run", cell: (run) => <RunLink run={run} />, heads: true },
    { name: "cases", head: "cases", cell: caseNames, wide: true },
    { name: "results", head: "results", cell: results, by: (run) => run.results, number: true },
    { name: "revision", head: "revision", cell: revisionWords },
    { name: "tags", head: "tags", cell: (run) => <Tags tags={run.tags} /> },
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

function caseNames(run: RunLine): string {
  const more = run.cases.length - CASES;
  return run.cases.slice(0, CASES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function results(run: RunLine) {
  const missing = run.planned - run.results;
  return (
    <span>
      {run.results}
      {run.failed > 0 && <span class="worse"> · {run.failed} failed</span>}
      {missing > 0 && <span class="unclear"> · {missing} missing</span>}
    </span>
  );
}

function revisionWords({ revision }: RunLine) {
  if (!revision) return <span class="soft">–</span>;
  return (
    <span class="runs-revision" title={`${revision.id} ${revision.subject}`}>
      <code>{revisionShort(revision.id)}</code> {revision.dirty && <span class="unclear">with local changes </span>}
      <span class="soft">{revision.subject}</span>
    </span>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span class="tags">
      {tags.map((tag) => (
        <a key={tag} class="tag" href={href("runs", [], { tag })}>
          {tag}
        </a>
      ))}
    </span>
  );
}

// ---- two runs to compare ----

function pickedRuns(query: Query): string[] {
  return (query.pick ?? "").split(",").filter(Boolean);
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
