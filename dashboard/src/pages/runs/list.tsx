// The newest runs first, filtered and paged.
// In the address: case, tag, revision, machine and what is chosen of facets, sort, before (the page after that run), pick
// (runs to compare).

import { isStatic, useData, useLast, type Query } from "../../api";
import { Tally } from "../../parts/badges";
import { chosenOf, FACET_KEYS, facetQuery, Facets } from "../../parts/facets";
import { Choice, Entered } from "../../parts/filters";
import { RevisionText, RunCases, RunResults, Tags } from "../../parts/runcells";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { When } from "../../parts/when";
import { change, href } from "../../route";
import type { Facet, RunLine, RunsPage, SeriesPage } from "../../shapes";
import { namedSides } from "../compare/sides";

const FILTERS = ["case", "tag", "revision", "machine", ...FACET_KEYS];

export function RunList({ query }: { query: Query }) {
  const { case: name, tag, revision, machine, before, sort } = query;
  const wanted = { case: name, tag, revision, machine, sort, ...facetQuery(query) };
  const answer = useLast(useData<RunsPage>("runs", { ...wanted, before, facets: before ? "" : "true" }));
  const filtered = FILTERS.some((filter) => query[filter]);
  return (
    <div class="stack">
      <h1>Runs</h1>
      {(filtered || answer.data === undefined || answer.data.runs.length > 0) && (
        <search class="stack">
          <Filters query={query} />
          {answer.data && <Facets facets={facetsOf(answer.data, query)} query={query} reset={["before"]} />}
        </search>
      )}
      <Picked query={query} />
      <Answered answer={answer}>{(page) => <Listed page={page} query={query} filtered={filtered} />}</Answered>
    </div>
  );
}

function Listed({ page, query, filtered }: { page: RunsPage; query: Query; filtered: boolean }) {
  const shown = isStatic ? page.runs.filter((run) => fits(run, query)) : page.runs;
  if (!shown.length) return <None filtered={filtered} />;
  return (
    <section class="section" aria-label="Runs">
      <Table
        caption={query["sort"] ? "Runs" : "Runs, latest first"}
        columns={columns(query)}
        rows={shown}
        keyOf={(run) => run.id}
        sorted={query["sort"] || "-run"}
        onSort={(sort) => change({ sort, before: undefined }, true)}
        inOrder={!isStatic}
        cards
      />
      <nav class="row runs-pages" aria-label="Pages">
        {query["before"] && (
          <a href={href("runs", [], { ...query, before: undefined })}>{query["sort"] ? "First" : "Latest"}</a>
        )}
        {page.next && (
          <a href={href("runs", [], { ...query, before: page.next })}>{query["sort"] ? "Next" : "Older"}</a>
        )}
      </nav>
    </section>
  );
}

function None({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No matching runs." />
  ) : (
    <Empty title="No runs yet.">
      <p>
        Measure something: <code>benchwright run model.onnx</code>
      </p>
    </Empty>
  );
}

/** A published site has one list; a server filters by itself. `besides` names a facet that does not count. */
function fits(run: RunLine, query: Query, besides = ""): boolean {
  const { case: name, tag, revision } = query;
  const one = (facet: string, held: readonly string[]) => {
    const chosen = facet === besides ? [] : chosenOf(facet, query);
    return !chosen.length || held.some((value) => chosen.includes(value));
  };
  return (
    (!name || run.cases.includes(name)) &&
    (!tag || run.tags.includes(tag)) &&
    (!revision || (run.revision?.id ?? "").startsWith(revision)) &&
    one("tag", run.tags) &&
    one("branch", [run.revision?.branch ?? ""])
  );
}

/** A server counts by itself; the list of a published site is whole. */
function facetsOf(page: RunsPage, query: Query): Facet[] {
  if (!isStatic) return page.facets;
  const counted = (name: string, held: (run: RunLine) => readonly string[]): Facet => {
    const counts = new Map<string, number>();
    for (const run of page.runs)
      for (const value of held(run))
        if (value) counts.set(value, (counts.get(value) ?? 0) + (fits(run, query, name) ? 1 : 0));
    const values = [...counts].map(([value, count]) => ({ value, label: value, count }));
    values.sort((a, b) => b.count - a.count || a.value.localeCompare(b.value));
    return { name, values: values.slice(0, 20), more: Math.max(0, values.length - 20) };
  };
  return [counted("branch", (run) => [run.revision?.branch ?? ""]), counted("tag", (run) => run.tags)];
}

function Filters({ query }: { query: Query }) {
  const known = useData<SeriesPage>("series", { limit: "1" }).data;
  return (
    <form class="row filters" role="search" aria-label="Filter runs" onSubmit={(event) => event.preventDefault()}>
      <Choice label="Case" name="case" query={query} options={known?.cases.map((one) => [one, one]) ?? []} />
      {query["machine"] && (
        <Choice label="Machine" name="machine" query={query} options={Object.entries(known?.machines ?? {})} />
      )}
      <Entered label="Tag" name="tag" query={query} />
      <Entered label="Revision" name="revision" query={query} />
    </form>
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
    {
      name: "run",
      head: "Run",
      heads: true,
      largestFirst: true,
      by: (run) => run.started_at,
      cell: (run) => <RunLink run={run} />,
    },
    { name: "cases", head: "Cases", wide: true, cell: (run) => <RunCases run={run} /> },
    {
      name: "results",
      head: "Results",
      number: true,
      largestFirst: true,
      by: (run) => run.results,
      cell: (run) => <RunResults run={run} />,
    },
    {
      name: "failed",
      head: "Failed",
      number: true,
      largestFirst: true,
      by: (run) => run.failed,
      cell: (run) => <Tally of={run.failed} kind="worse" />,
    },
    { name: "tags", head: "Tags", cell: (run) => run.tags.length > 0 && <Tags tags={run.tags} /> },
    {
      name: "revision",
      head: "Revision",
      by: (run) => run.revision?.id ?? "",
      cell: (run) => <RevisionText revision={run.revision} />,
    },
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

// ---- two runs to compare ----

const MOST_PICKED = 8; // sides of one comparison

function pickedRuns(query: Query): string[] {
  return (query["pick"] ?? "").split(",").filter(Boolean);
}

function PickBox({ run, picked }: { run: RunLine; picked: readonly string[] }) {
  const on = picked.includes(run.id);
  const next = on ? picked.filter((id) => id !== run.id) : [...picked, run.id].slice(-MOST_PICKED);
  return (
    <input
      type="checkbox"
      checked={on}
      aria-label={`Compare ${run.id}`}
      onChange={() => change({ pick: next.join(",") }, true)}
    />
  );
}

/** Ids sort by time: the oldest run is the baseline. */
function Picked({ query }: { query: Query }) {
  const picked = pickedRuns(query).sort();
  const [a, b, ...more] = picked;
  if (!a) return null;
  if (!b) return <p class="soft">Select a second run to compare with {a}.</p>;
  return (
    <p>
      <a href={href("compare", [], namedSides(picked.map((run) => `run:${run}`)))}>
        Compare {more.length ? `${picked.length - 1} runs` : b} with {a}
      </a>
    </p>
  );
}
