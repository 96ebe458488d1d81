// Every series, with filters and search; several can be chosen and drawn on one chart.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, isStatic, type Query } from "../../api";
import { Choice, Words } from "../../parts/filters";
import { ago, caseLabel, count, date, paramsText, value, whole } from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Empty, Problem, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { hasWords } from "../../parts/words";
import { href, open } from "../../route";
import type { SeriesLine, SeriesPage } from "../../shapes";

const PAGE = "100";
const MOST = 8; // lines on one chart: as many as there are colours

export function SeriesList({ query }: { query: Query }) {
  const { pages, error, more } = usePages(query);
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
              ? `${count(chosen.length, "series", "series")} chosen`
              : "Tick several to draw them on one chart"}
          </span>
          <button type="button" class="main" disabled={!chosen.length} onClick={() => open(chartOf(chosen))}>
            Draw
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
          columns={columns(chosen, toggle)}
          rows={rows}
          keyOf={(line) => line.key + line.unit}
          cards
        />
      )}
      {more && !error && (
        <p>
          <button type="button" onClick={more}>
            Show more
          </button>
        </p>
      )}
    </div>
  );
}

interface Pages {
  pages: SeriesPage[];
  error: string;
  /** Asks for the next page; after an error once more for the one that did not come. */
  more: (() => void) | undefined;
}

/** The pages of the list that were asked for so far; those of another question are shown until the first new one is there. */
function usePages({ words, case: name, metric, machine }: Query): Pages {
  const asked = JSON.stringify([words, name, metric, machine]);
  const latest = useRef(asked);
  latest.current = asked;
  const [state, setState] = useState<{ asked: string; pages: SeriesPage[]; error: string }>({
    asked: "",
    pages: [],
    error: "",
  });
  const load = (after: string, before: SeriesPage[]) => {
    const told = (pages: SeriesPage[], error: string) => latest.current === asked && setState({ asked, pages, error });
    get<SeriesPage>("series", { words, case: name, metric, machine, after, limit: PAGE }).then(
      (page) => told([...before, page], ""),
      (error: Error) => told(before, error.message),
    );
  };
  useEffect(() => load("", []), [asked]);
  const next = state.pages.at(-1)?.next ?? "";
  const isMore = state.asked === asked && (next || state.error);
  return { pages: state.pages, error: state.error, more: isMore ? () => load(next, state.pages) : undefined };
}

function Filters({ page, query }: { page: SeriesPage; query: Query }) {
  const machines = Object.entries(page.machines);
  return (
    <form class="row filters" onSubmit={(event) => event.preventDefault()}>
      <Words given={query["words"]} placeholder="resnet p99 batch_size=8" />
      <Choice label="Case" name="case" query={query} options={page.cases.map((one) => [one, one])} />
      <Choice label="Metric" name="metric" query={query} options={page.metrics.map((one) => [one, one])} />
      {machines.length > 1 && <Choice label="Machine" name="machine" query={query} options={machines} />}
      <button type="button" disabled={!Object.values(query).some(Boolean)} onClick={() => open(href("series"))}>
        Clear
      </button>
    </form>
  );
}

function columns(chosen: readonly string[], toggle: (key: string) => void): Column<SeriesLine>[] {
  const tick = (line: SeriesLine) => (
    <input
      type="checkbox"
      checked={chosen.includes(line.key)}
      onChange={() => toggle(line.key)}
      aria-label={`Choose ${line.case} ${paramsText(line.params)} ${line.metric}`}
    />
  );
  return [
    { name: "tick", head: "Draw", tick: true, cell: tick },
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
      head: "Newest",
      number: true,
      by: (line) => line.last,
      cell: (line) => value(line.last, line.unit),
    },
    { name: "spark", head: "Lately", cell: (line) => <Spark values={line.spark} /> },
    { name: "findings", head: "Findings", by: (line) => line.findings.length, cell: (line) => <Open line={line} /> },
    { name: "machine", head: "Machine", by: (line) => line.machine_name, cell: (line) => <MachineName line={line} /> },
    { name: "count", head: "Points", number: true, by: (line) => line.count, cell: (line) => whole(line.count) },
    { name: "at", head: "Measured", by: (line) => line.last_at, cell: (line) => <Measured line={line} /> },
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
  const filtered = Object.values(query).some(Boolean);
  return (
    <Empty title={filtered ? "No series fits." : "There is no series yet."}>
      <p>
        {filtered ? "Take away a word or a filter." : "A series begins with the first result of a case on a machine."}
      </p>
    </Empty>
  );
}

/** Several keys are one part of the address, with commas between them. */
export function chartOf(keys: readonly string[], query: Query = {}): string {
  return href("series", [keys.join(",")], query).replaceAll("%2C", ",");
}

/** A published site holds the whole list, so that it is filtered here. */
function fits(line: SeriesLine, query: Query): boolean {
  const same = (given: string | undefined, held: string) => !given || given === held;
  const named =
    same(query["case"], line.case) && same(query["metric"], line.metric) && same(query["machine"], line.machine);
  return named && hasWords(`${line.case} ${paramsText(line.params)} ${line.metric}`, query["words"] ?? "");
}
