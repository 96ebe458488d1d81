// One or several series over time: chart, what changed, notes, and series that belong to it.

import { useMemo, useState } from "preact/hooks";
import { useAll, useLast, type Query } from "../../api";
import { DriftBadge, Effect, StateBadge, Swatch, VerdictBadge } from "../../parts/badges";
import { Chart, type ChartRange } from "../../parts/chart";
import { CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import {
  ago,
  caseLabel,
  count,
  date,
  DAY,
  estimate,
  interval,
  paramsText,
  revisionShort,
  value,
  whole,
} from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Answered } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { change, href } from "../../route";
import type { Mark, SeriesLine, SeriesView } from "../../shapes";
import { chartOf, MachineName } from "./list";
import { isDrift, levelsOf, linesOf, marksOf, shownAs, type Shown } from "./lines";
import { Notes } from "./notes";

export function SeriesChart({ keys, query }: { keys: string[]; query: Query }) {
  const [again, setAgain] = useState(0);
  const answer = useLast(
    useAll<SeriesView>(
      keys.map((key) => `series/${encodeURIComponent(key)}`),
      again,
    ),
  );
  return (
    <Answered answer={answer}>
      {(views) => <Drawn views={views} query={query} reload={() => setAgain(again + 1)} />}
    </Answered>
  );
}

function Drawn({ views, query, reload }: { views: SeriesView[]; query: Query; reload: () => void }) {
  useTitle(views.map(({ line }) => `${line.metric} of ${caseLabel(line.case, line.params)}`).join(", "));
  const first = views[0]!;
  const shown = shownAs(views, query);
  const [noteAt, setNoteAt] = useState<number | null>(null);
  const lines = useMemo(() => linesOf(views, shown.relative), [views, shown.relative]);
  const labels = lines.map((line) => line.label);
  const marks = useMemo(
    () => views.flatMap((view, index) => marksOf(view, views.length > 1 ? lines[index]!.label : "")),
    [lines],
  );
  const levels = useMemo(
    () => (views.length === 1 && !shown.relative ? levelsOf(first.marks, first.at) : []),
    [views, shown.relative],
  );
  const notes = useMemo(() => allNotes(views), [views]);
  const tip = (line: number, index: number, pinned: boolean) => (
    <Reading
      view={views[line]!}
      index={index}
      pinned={pinned}
      named={views.length > 1 ? lines[line]!.label : ""}
      annotate={setNoteAt}
    />
  );
  return (
    <div class="stack">
      <Title views={views} />
      <section class="panel section" aria-label="Chart">
        <Tools shown={shown} views={views} />
        {views.length > 1 && <Legend views={views} labels={labels} query={query} />}
        <Chart
          label={
            views.length > 1
              ? `${views.length} series over time`
              : `${first.line.metric} of ${first.line.case} over time`
          }
          lines={lines}
          marks={marks}
          notes={notes}
          levels={levels}
          log={shown.log}
          band={shown.band}
          zero={shown.zero}
          range={shown.range}
          onRange={keepRange}
          tip={tip}
          height={420}
        />
        <p class="soft small hint">
          Drag to zoom, Shift and drag to pan, wheel to zoom once clicked, double click for everything. A click keeps a
          point.
        </p>
      </section>
      {marks.length > 0 && <Changes views={views} labels={labels} />}
      <Notes views={views} notes={notes} at={noteAt} reload={reload} />
      <Related views={views} query={query} />
    </div>
  );
}

function Title({ views }: { views: SeriesView[] }) {
  const { line } = views[0]!;
  if (views.length > 1) return <h1>{count(views.length, "series", "series")}</h1>;
  const params = paramsText(line.params);
  return (
    <div class="series-title">
      <h1>{line.case}</h1>
      {params && <p class="soft">{params}</p>}
      <dl class="facts">
        <Fact name="Metric">{line.better ? `${line.metric}, ${line.better} is better` : line.metric}</Fact>
        <Fact name="Machine">{line.machine_name}</Fact>
        <Fact name="Newest">
          {value(line.last, line.unit)}, {ago(line.last_at)}
        </Fact>
        <Fact name="Points">{whole(line.count)}</Fact>
      </dl>
    </div>
  );
}

// ---- above the chart ----

const SPANS: readonly [string, number][] = [
  ["30 d", 30 * DAY],
  ["90 d", 90 * DAY],
  ["1 y", 365 * DAY],
];

function Tools({ shown, views }: { shown: Shown; views: SeriesView[] }) {
  const last = Math.max(...views.map((view) => view.at.at(-1) ?? 0));
  const first = Math.min(...views.map((view) => view.at[0] ?? Infinity));
  return (
    <div class="row tools-row">
      <div class="row group" role="group" aria-label="What is in view">
        {SPANS.filter(([, span]) => last - first > span).map(([name, span]) => (
          <button key={name} type="button" onClick={() => keepRange([last - span, last])}>
            {name}
          </button>
        ))}
        <button type="button" disabled={!shown.range} onClick={() => keepRange(null)}>
          All
        </button>
      </div>
      <div class="row group" role="group" aria-label="How it is drawn">
        <Toggle name="log" text="Log scale" on={shown.log} />
        <Toggle name="zero" text="From zero" on={shown.zero} disabled={shown.log} />
        <Toggle name="band" text="Intervals" on={shown.band} off="0" />
        {views.length > 1 && (
          <Toggle name="relative" text="First = 100 %" on={shown.relative} disabled={shown.mustRelate} />
        )}
      </div>
      <span class="push">
        <CopyLink />
      </span>
    </div>
  );
}

/** Something that is on when the address says `name=1`, or off when it says `name=0` if it is on by itself. */
function Toggle({
  name,
  text,
  on,
  off,
  disabled = false,
}: {
  name: string;
  text: string;
  on: boolean;
  off?: string;
  disabled?: boolean;
}) {
  const next = off === undefined ? (on ? "" : "1") : on ? off : "";
  return (
    <button type="button" aria-pressed={on} disabled={disabled} onClick={() => change({ [name]: next })}>
      {text}
    </button>
  );
}

function keepRange(range: ChartRange | null): void {
  change({ from: range ? String(Math.round(range[0])) : "", to: range ? String(Math.round(range[1])) : "" }, true);
}

function Legend({ views, labels, query }: { views: SeriesView[]; labels: string[]; query: Query }) {
  const without = (key: string) =>
    chartOf(
      views.map((view) => view.line.key).filter((one) => one !== key),
      query,
    );
  return (
    <ul class="legend" aria-label="Series on this chart">
      {views.map(({ line }, index) => (
        <li key={line.key}>
          <Swatch index={index} />
          <a href={href("series", [line.key])}>{labels[index]}</a>
          <span class="soft">{value(line.last, line.unit)}</span>
          <a class="remove" href={without(line.key)} aria-label={`Take ${labels[index]} off the chart`}>
            ×
          </a>
        </li>
      ))}
    </ul>
  );
}

// ---- at a point ----

interface ReadingProps {
  view: SeriesView;
  index: number;
  pinned: boolean;
  named: string;
  annotate: (at: number) => void;
}

function Reading({ view, index, pinned, named, annotate }: ReadingProps) {
  const { line, at, point, low, high, runs, revisions } = view;
  const run = runs[view.run[index] ?? -1] ?? "";
  const revision = revisions[view.revision[index] ?? -1] ?? "";
  const held = { point: point[index] ?? 0, low: low[index] ?? null, high: high[index] ?? null };
  return (
    <div class="reading">
      <div>
        <strong>{value(held.point, line.unit, 4)}</strong> <span class="soft">{interval(held, line.unit, 4)}</span>
      </div>
      {named && <div>{named}</div>}
      <div class="soft">{date(at[index] ?? 0)}</div>
      {revision && (
        <div>
          <code>{revisionShort(revision)}</code> {view.subjects[revision] ?? ""}
        </div>
      )}
      {pinned ? (
        <div class="row reading-links">
          <a href={href("results", [String(view.result[index] ?? "")])}>Result</a>
          {run && <a href={href("runs", [run])}>Run</a>}
          <button type="button" onClick={() => annotate(at[index] ?? 0)}>
            Write a note
          </button>
        </div>
      ) : (
        <div class="soft small">run {run}</div>
      )}
    </div>
  );
}

// ---- below the chart ----

const FEW = 8; // related series at first

interface Changed extends Mark {
  line: SeriesLine;
  label: string;
}

function Changes({ views, labels }: { views: SeriesView[]; labels: string[] }) {
  const rows = views.flatMap(({ line, marks }, index) =>
    marks.map((mark) => ({ ...mark, line, label: labels[index]! })),
  );
  return (
    <section class="section" aria-labelledby="changes">
      <h2 id="changes">What changed</h2>
      <Table
        caption="Change points"
        columns={views.length > 1 ? [...CHANGES, SERIES] : CHANGES}
        rows={rows}
        keyOf={(mark) => mark.finding}
        sorted="-at"
        cards
      />
    </section>
  );
}

const CHANGES: Column<Changed>[] = [
  { name: "at", head: "When", heads: true, by: (m) => m.at, cell: (m) => <ChangeLink mark={m} /> },
  { name: "verdict", head: "Verdict", by: (m) => m.verdict, cell: (m) => <VerdictBadge verdict={m.verdict} /> },
  { name: "effect", head: "Change", by: (m) => m.effect.point, cell: (m) => <ChangeEffect mark={m} /> },
  { name: "before", head: "Before", number: true, cell: (m) => estimate(m.before, m.line.unit) },
  { name: "after", head: "After", number: true, cell: (m) => estimate(m.after, m.line.unit) },
  { name: "state", head: "State", by: (m) => m.state, cell: (m) => <StateBadge state={m.state} /> },
];
const SERIES: Column<Changed> = { name: "series", head: "Series", by: (m) => m.label, cell: (m) => m.label };

function ChangeLink({ mark }: { mark: Changed }) {
  return (
    <a class="nowrap" href={href("findings", [mark.finding])}>
      {date(mark.at)}
    </a>
  );
}

function ChangeEffect({ mark }: { mark: Changed }) {
  const effect = <Effect effect={mark.effect} unit={mark.line.unit} verdict={mark.verdict} interval />;
  if (!isDrift(mark)) return effect;
  return (
    <span class="row">
      {effect} <DriftBadge />
    </span>
  );
}

function Related({ views, query }: { views: SeriesView[]; query: Query }) {
  const keys = views.map((view) => view.line.key);
  const rows = (views[0]?.related ?? []).filter((line) => !keys.includes(line.key));
  if (!rows.length) return null;
  const add = (line: SeriesLine) => (
    <a
      href={chartOf([...keys, line.key], query)}
      aria-label={`Draw ${line.case} ${paramsText(line.params)} ${line.metric} too`}
    >
      Draw too
    </a>
  );
  const name = (line: SeriesLine) => <a href={href("series", [line.key])}>{paramsText(line.params) || line.case}</a>;
  const columns: Column<SeriesLine>[] = [
    { name: "case", head: "Series", heads: true, wide: true, cell: name },
    { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric },
    { name: "last", head: "Newest", number: true, cell: (line) => value(line.last, line.unit) },
    { name: "spark", head: "Lately", cell: (line) => <Spark values={line.spark} /> },
    { name: "machine", head: "Machine", by: (line) => line.machine_name, cell: (line) => <MachineName line={line} /> },
    { name: "add", head: "", cell: add },
  ];
  return (
    <section class="section" aria-labelledby="related">
      <h2 id="related">Related series</h2>
      <Table
        caption="Related series"
        columns={columns}
        rows={rows}
        keyOf={(line) => line.key + line.unit}
        few={FEW}
        cards
      />
    </section>
  );
}

function allNotes(views: SeriesView[]): SeriesView["notes"] {
  const byId = new Map(views.flatMap((view) => view.notes).map((note) => [note.id, note]));
  return [...byId.values()].sort((a, b) => a.at - b.at);
}
