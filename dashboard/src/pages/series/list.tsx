// Every series, with filters and search; several can be chosen and drawn on one chart.

import { useEffect, useState } from "preact/hooks";
import { get, isStatic, type Query } from "../../api";
import { ago, count, date, paramsText, value } from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Empty, Problem, Waiting } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { change, href } from "../../route";
import type { SeriesLine, SeriesPage } from "../../shapes";

const PAGE = "100";
const MOST = 8; // lines on one chart: as many as there are colours

export function SeriesList({ query }: { query: Query }) {
  const { pages, error, more } = usePages(query);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const toggle = (key: string) => setChosen(chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key].slice(-MOST));
  const first = pages[0];
  const rows = pages.flatMap((page) => page.series).filter((line) => !isStatic || fits(line, query));
  return (
    <div class="stack">
      <div class="row">
        <h1>Series</h1>
        <div class="row push">
          <span class="soft small" role="status">
            {chosen.length ? `${count(chosen.length, "series", "series")} chosen` : "Tick several to draw them on one chart"}
          </span>
          <button type="button" class="main" disabled={!chosen.length} onClick={() => void (location.hash = chartOf(chosen))}>
            Draw
          </button>
        </div>
      </div>
      {first && <Filters page={first} query={query} />}
      {error && <Problem error={error} />}
      {!first && !error && <Waiting />}
      {first && !rows.length && <NoSeries query={query} />}
      {rows.length > 0 && <Table caption="Series" columns={columns(chosen, toggle)} rows={rows} keyOf={(line) => line.key + line.unit} cards />}
      {more && (
        <p>
          <button type="button" onClick={more}>
            Show more
          </button>
        </p>
      )}
    </div>
  );
}

/** The pages of the list that were asked for so far. */
function usePages(query: Query): { pages: SeriesPage[]; error: string; more: (() => void) | undefined } {
  const { words, case: name, metric, machine } = query;
  const asked = JSON.stringify([words, name, metric, machine]);
  const [state, setState] = useState<{ asked: string; pages: SeriesPage[]; error: string }>({ asked: "", pages: [], error: "" });
  const load = (after: string, before: SeriesPage[], wanted: () => boolean) =>
    get<SeriesPage>("series", { words, case: name, metric, machine, after, limit: PAGE }).then(
      (page) => wanted() && setState({ asked, pages: [...before, page], error: "" }),
      (error: Error) => wanted() && setState({ asked, pages: before, error: error.message }),
    );
  useEffect(() => {
    let wanted = true;
    void load("", [], () => wanted);
    return () => {
      wanted = false;
    };
  }, [asked]);
  const next = state.asked === asked ? state.pages.at(-1)?.next : "";
  return { pages: state.pages, error: state.error, more: next ? () => void load(next, state.pages, () => true) : undefined };
}

function Filters({ page, query }: { page: SeriesPage; query: Query }) {
  const machines = Object.entries(page.machines);
  return (
    <form class="row filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field grow">
        Words
        <Words given={query["words"] ?? ""} />
      </label>
      <Choice label="Case" name="case" query={query} options={page.cases.map((one) => [one, one])} />
      <Choice label="Metric" name="metric" query={query} options={page.metrics.map((one) => [one, one])} />
      {machines.length > 1 && <Choice label="Machine" name="machine" query={query} options={machines} />}
      <button type="button" disabled={!Object.values(query).some(Boolean)} onClick={() => void (location.hash = href("series"))}>
        Clear
      </button>
    </form>
  );
}

/** Kept here while it is typed; the address follows after a moment. */
function Words({ given }: { given: string }) {
  const [words, setWords] = useState(given);
  useEffect(() => setWords(given), [given]);
  useEffect(() => {
    if (words.trim() === given) return;
    const timer = setTimeout(() => change({ words: words.trim() }, true), 250);
    return () => clearTimeout(timer);
  }, [words]);
  return <input type="search" value={words} placeholder="resnet p99 batch_size=8" onInput={(event) => setWords(event.currentTarget.value)} />;
}

function Choice(props: { label: string; name: string; query: Query; options: readonly (readonly [string, string])[] }) {
  const { label, name, query, options } = props;
  return (
    <label class="field">
      {label}
      <select value={query[name] ?? ""} onChange={(event) => change({ [name]: event.currentTarget.value })}>
        <option value="">Every {label.toLowerCase()}</option>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function columns(chosen: readonly string[], toggle: (key: string) => void): Column<SeriesLine>[] {
  const tick = (line: SeriesLine) => (
    <input type="checkbox" checked={chosen.includes(line.key)} onChange={() => toggle(line.key)} aria-label={`Choose ${line.case} ${paramsText(line.params)} ${line.metric}`} />
  );
  return [
    { name: "tick", head: "Draw", cell: tick },
    { name: "case", head: "Case", heads: true, wide: true, by: (line) => line.case + paramsText(line.params), cell: (line) => <Name line={line} /> },
    { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric },
    { name: "last", head: "Newest", number: true, by: (line) => line.last, cell: (line) => value(line.last, line.unit) },
    { name: "spark", head: "Lately", cell: (line) => <Spark values={line.spark} verdict={line.findings.length ? "worse" : undefined} /> },
    { name: "findings", head: "Findings", by: (line) => line.findings.length, cell: (line) => <Open line={line} /> },
    { name: "machine", head: "Machine", by: (line) => line.machine_name, cell: (line) => <MachineName line={line} /> },
    { name: "count", head: "Points", number: true, by: (line) => line.count, cell: (line) => line.count.toLocaleString("en-US") },
    { name: "at", head: "Measured", by: (line) => line.last_at, cell: (line) => <span class="nowrap" title={date(line.last_at)}>{ago(line.last_at)}</span> },
  ];
}

function Name({ line }: { line: SeriesLine }) {
  return (
    <span>
      <a href={href("series", [line.key])}>{line.case}</a> <span class="soft small">{paramsText(line.params)}</span>
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
  return first ? <a href={href("findings", [first])}>{count(line.findings.length, "open", "open")}</a> : <span class="soft">none</span>;
}

function NoSeries({ query }: { query: Query }) {
  const filtered = Object.values(query).some(Boolean);
  return (
    <Empty title={filtered ? "No series fits." : "There is no series yet."}>
      <p>{filtered ? "Take away a word or a filter." : "A series begins with the first result of a case on a machine."}</p>
    </Empty>
  );
}

/** Several keys are one part of the address, with commas between them. */
export function chartOf(keys: readonly string[], query: Query = {}): string {
  return href("series", [keys.join(",")], query).replaceAll("%2C", ",");
}

/** A published site holds the whole list, so that it is filtered here. */
function fits(line: SeriesLine, query: Query): boolean {
  const text = `${line.case} ${paramsText(line.params)} ${line.metric}`.toLowerCase();
  const words = (query["words"] ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const same = (given: string | undefined, held: string) => !given || given === held;
  return words.every((word) => text.includes(word)) && same(query["case"], line.case) && same(query["metric"], line.metric) && same(query["machine"], line.machine);
}
