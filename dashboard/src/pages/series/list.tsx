// Every series, with filters and search; several can be chosen and drawn on one chart.

import { useState } from "preact/hooks";
import { isStatic, type Query } from "../../api";
import { chosenOf, facetQuery, Facets } from "../../parts/facets";
import { Choice, Words } from "../../parts/filters";
import { ago, caseLabel, count, date, paramsText, value, whole } from "../../parts/format";
import { usePages, type Pages } from "../../parts/pages";
import { Spark } from "../../parts/spark";
import { Empty, Problem, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { hasWords } from "../../parts/words";
import { change, href, open, unlisted } from "../../route";
import type { Facet, FacetValue, SeriesLine, SeriesPage } from "../../shapes";

const PAGE = "100";
const MOST = 8; // lines on one chart: as many as there are colours

export function SeriesList({ query }: { query: Query }) {
  const { pages, error, more } = useSeries(query);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const toggle = (key: string) =>
    setChosen(chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key].slice(-MOST));
  const first = pages[0];
  const rows = pages.flatMap((page) => page.series).filter((line) => !isStatic || fits(line, query));
  const nothing = first !== undefined && !first.cases.length; // nothing to narrow, nothing to choose
  return (
    <div class="stack">
      <div class="row">
        <h1>Series</h1>
        <div class="row push" hidden={nothing}>
          <span class="soft small" role="status">
            {chosen.length
              ? `${count(chosen.length, "series", "series")} selected`
              : "Select series to show them on one chart"}
          </span>
          <button type="button" class="main" disabled={!chosen.length} onClick={() => open(chartOf(chosen))}>
            Show chart
          </button>
        </div>
      </div>
      {first && !nothing && <Filters page={first} query={query} />}
      {error && <Problem error={error} {...(more ? { retry: more } : {})} />}
      {!first && !error && <Waiting />}
      {first && !rows.length && <NoSeries query={query} />}
      {rows.length > 0 && (
        <Table
          caption="Series"
          columns={columns(chosen, toggle, first?.sortable ?? true)}
          rows={rows}
          keyOf={(line) => line.key + line.unit}
          sorted={query["sort"] ?? ""}
          onSort={(sort) => change({ sort }, true)}
          inOrder={!isStatic}
          next={error ? undefined : more}
          {...(first?.total ? { total: first.total } : {})}
          cards
        />
      )}
    </div>
  );
}

/** The pages of the list that were asked for so far; the first one counts what narrows it. */
function useSeries(query: Query): Pages<SeriesPage> {
  const { words, case: name, metric, machine, sort } = query;
  const wanted = { words, case: name, metric, machine, sort, ...facetQuery(query), limit: PAGE };
  return usePages<SeriesPage>("series", wanted, { facets: "true" });
}

function Filters({ page, query }: { page: SeriesPage; query: Query }) {
  const facets = isStatic ? facetsOf(page.series, query) : page.facets;
  const narrowed = Object.entries(query).some(([name, given]) => name !== "sort" && given);
  return (
    <search class="stack series-filters">
      <form class="row filters" onSubmit={(event) => event.preventDefault()}>
        <Words given={query["words"]} placeholder="resnet p99 batch_size=8" />
        <Choice label="Case" name="case" query={query} options={page.cases.map((one) => [one, one])} />
        <Choice label="Metric" name="metric" query={query} options={page.metrics.map((one) => [one, one])} />
        {query["machine"] && (
          <Choice label="Machine" name="machine" query={query} options={Object.entries(page.machines)} />
        )}
        <button type="button" disabled={!narrowed} onClick={() => open(href("series", [], { sort: query["sort"] }))}>
          Clear filters
        </button>
      </form>
      <div class="row">
        <Facets facets={facets} query={query} />
        {page.total > 0 && (
          <span class="soft small push" role="status">
            {count(page.total, "series", "series")}
          </span>
        )}
      </div>
    </search>
  );
}

/** A published site holds the whole list, so that its facets are counted here. */
export function facetsOf(lines: readonly SeriesLine[], query: Query): Facet[] {
  const names = new Map<string, Map<string, FacetValue>>([
    ["metric", new Map()],
    ["machine", new Map()],
  ]);
  const add = (name: string, value: string, label: string, line: SeriesLine) => {
    if (!names.has(name)) names.set(name, new Map());
    const values = names.get(name)!;
    if (!values.has(value)) values.set(value, { value, label, count: 0 });
    if (fits(line, query, name)) values.get(value)!.count++;
  };
  for (const line of lines) {
    add("metric", line.metric, line.metric, line);
    add("machine", line.machine, line.machine_name, line);
    for (const [name, given] of Object.entries(line.params)) add(`param.${name}`, String(given), String(given), line);
  }
  return [...names].map(([name, values]) => ({
    name,
    values: [...values.values()].sort((a, b) => b.count - a.count || a.label.localeCompare(b.label)).slice(0, 20),
    more: Math.max(0, values.size - 20),
  }));
}

/** By newest values and times a server orders only so many: `sortable` says whether it does. */
function columns(chosen: readonly string[], toggle: (key: string) => void, sortable: boolean): Column<SeriesLine>[] {
  const byPoints = (by: (line: SeriesLine) => number | null) => (sortable ? { by } : {});
  const tick = (line: SeriesLine) => (
    <input
      type="checkbox"
      checked={chosen.includes(line.key)}
      onChange={() => toggle(line.key)}
      aria-label={`Select ${line.case} ${paramsText(line.params)} ${line.metric}`}
    />
  );
  return [
    { name: "tick", head: "Select", tick: true, cell: tick },
    {
      name: "case",
      head: "Case",
      heads: true,
      wide: true,
      by: (line) => caseLabel(line.case, line.params),
      cell: (line) => <Name line={line} />,
    },
    { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric },
    {
      name: "last",
      head: "Latest",
      number: true,
      ...byPoints((line) => line.last),
      cell: (line) => value(line.last, line.unit),
    },
    { name: "spark", head: "Trend", cell: (line) => <Spark values={line.spark} /> },
    { name: "findings", head: "Findings", by: (line) => line.findings.length, cell: (line) => <Open line={line} /> },
    { name: "machine", head: "Machine", by: (line) => line.machine_name, cell: (line) => <MachineName line={line} /> },
    { name: "count", head: "Points", number: true, by: (line) => line.count, cell: (line) => whole(line.count) },
    { name: "at", head: "Measured", ...byPoints((line) => line.last_at), cell: (line) => <Measured line={line} /> },
  ];
}

function Name({ line }: { line: SeriesLine }) {
  return (
    <span>
      <a href={href("series", [line.key])}>{line.case}</a> <span class="soft small">{paramsText(line.params)}</span>
    </span>
  );
}

function Measured({ line }: { line: SeriesLine }) {
  return (
    <span class="nowrap" title={date(line.last_at)}>
      {ago(line.last_at)}
    </span>
  );
}

export function MachineName({ line }: { line: SeriesLine }) {
  return (
    <span class="soft clip machine-name" title={line.machine_name}>
      {line.machine_name}
    </span>
  );
}

function Open({ line }: { line: SeriesLine }) {
  const [first] = line.findings;
  return first ? (
    <a href={href("findings", [first])}>{count(line.findings.length, "open", "open")}</a>
  ) : (
    <span class="soft">none</span>
  );
}

function NoSeries({ query }: { query: Query }) {
  const filtered = Object.entries(query).some(([name, given]) => name !== "sort" && given);
  return (
    <Empty title={filtered ? "No matching series." : "No series yet."}>
      <p>{filtered ? "Remove a filter." : "A series begins with the first result of a case on a machine."}</p>
    </Empty>
  );
}

/** Several keys are one part of the address, with commas between them. */
export function chartOf(keys: readonly string[], query: Query = {}): string {
  return href("series", [keys.join(",")], query).replaceAll("%2C", ",");
}

/** A published site holds the whole list, so that it is filtered here; `besides` names a facet that does not count. */
function fits(line: SeriesLine, query: Query, besides = ""): boolean {
  const same = (given: string | undefined, held: string) => !given || given === held;
  const one = (facet: string, held: string) => {
    const chosen = facet === besides ? [] : chosenOf(facet, query);
    return !chosen.length || chosen.includes(held);
  };
  const params = new Set(unlisted(query["param"]).map((pair) => pair.slice(0, pair.indexOf("="))));
  return (
    same(query["case"], line.case) &&
    same(query["metric"], line.metric) &&
    same(query["machine"], line.machine) &&
    one("metric", line.metric) &&
    one("machine", line.machine) &&
    [...params].every((name) => one(`param.${name}`, String(line.params[name]))) &&
    hasWords(`${line.case} ${paramsText(line.params)} ${line.metric}`, query["words"] ?? "")
  );
}
