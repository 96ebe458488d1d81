// One or several series over time: chart, what changed, notes, and series that belong to it.

import { useMemo, useState } from "preact/hooks";
import { useAll, useLast, type Query } from "../../api";
import { DriftBadge, Effect, StateBadge, Swatch, VerdictBadge } from "../../parts/badges";
import { Chart, type ChartRange } from "../../parts/chart";
import { CommitLink } from "../../parts/codelinks";
import { CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import {
  ago,
  caseLabel,
  changeUnit,
  count,
  date,
  DAY,
  estimate,
  interval,
  paramsText,
  value,
  whole,
} from "../../parts/format";
import { PriceChanges, priceReleases } from "../../parts/prices";
import { QuarantineWords, spansOf } from "../../parts/quarantined";
import { Spark } from "../../parts/spark";
import { Answered } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { change, href, listed } from "../../route";
import type { Mark, SeriesLine, SeriesView } from "../../shapes";
import { branchesOf } from "./branches";
import {
  byCommit,
  byTime,
  commitAxis,
  namesOf as namesOfRange,
  placeName,
  rangeOf,
  type CommitAxis,
  type PlacedView,
} from "./commits";
import { chartOf, MachineName } from "./list";
import { isDrift, levelsOf, linesOf, marksOf, namesOf, repositoryOf, shownAs, type Shown } from "./lines";
import { Notes } from "./notes";

export function SeriesChart({ keys, query }: { keys: string[]; query: Query }) {
  const [again, setAgain] = useState(0);
  const answer = useLast(
    useAll<SeriesView>(
      keys.map((key) => `series/${encodeURIComponent(key)}`),
      again,
      query["rounds"] === "each" ? {} : { rounds: "together" },
    ),
  );
  return (
    <Answered answer={answer}>
      {(views) => <Drawn views={views} query={query} reload={() => setAgain(again + 1)} />}
    </Answered>
  );
}

function Drawn({ views: told, query, reload }: { views: SeriesView[]; query: Query; reload: () => void }) {
  useTitle(told.map(({ line }) => `${line.metric} of ${caseLabel(line.case, line.params)}`).join(", "));
  const shown = shownAs(told, query);
  const [noteAt, setNoteAt] = useState<number | null>(null);
  const axis = useMemo(() => (shown.commits ? commitAxis(told) : null), [told, shown.commits]);
  const views = useMemo(() => told.map((view) => (axis ? byCommit(view, axis) : byTime(view))), [told, axis]);
  const first = views[0]!;
  const wanted = listed(shown.branches);
  const lines = useMemo(
    () => linesOf(views, shown.relative, shown.branches, shown.others),
    [views, shown.relative, wanted, shown.others],
  );
  const labels = useMemo(() => namesOf(views), [views]);
  const marks = useMemo(
    () => views.flatMap((view, index) => marksOf(view, views.length > 1 ? labels[index]! : "")),
    [views, labels],
  );
  const levels = useMemo(
    () => (views.length === 1 && !shown.relative ? levelsOf(first.marks, first.at) : []),
    [views, shown.relative],
  );
  const notes = useMemo(() => allNotes(views), [views]);
  const pennants = useMemo(() => notes.filter((note) => !note.release), [notes]);
  const releases = useMemo(
    () => (axis ? allReleases(views) : [...allReleases(views), ...priceReleases(told)]), // prices change in time alone
    [views, axis],
  );
  const held = useMemo(
    () => (new Set(told.map(({ line }) => line.machine)).size > 1 ? [] : told[0]!.quarantines),
    [told],
  );
  const spans = useMemo(() => (axis ? [] : spansOf(held)), [held, axis]); // commits do not lie in stretches of time
  const xName = useMemo(() => (axis ? (x: number) => placeName(axis, x) : undefined), [axis]);
  const range = useMemo(
    () => (axis ? rangeOf(axis, query["from"] ?? "", query["to"] ?? "") : shown.range),
    [axis, query["from"], query["to"]],
  );
  const keep = (part: ChartRange | null) => keepRange(part, axis);
  const tip = (line: number, index: number, pinned: boolean) => {
    const { view, places, label } = lines[line]!;
    const point = places ? places[index]! : index;
    const named = lines.length > 1 ? label : "";
    return <Reading view={views[view]!} index={point} pinned={pinned} named={named} annotate={setNoteAt} />;
  };
  return (
    <div class="stack">
      <Title views={told} />
      <section class="panel section" aria-label="Chart">
        <Tools shown={shown} range={range} views={told} axis={axis} keep={keep} />
        <Branches views={told} shown={shown} />
        {views.length > 1 && <Legend views={told} labels={labels} query={query} />}
        <Chart
          label={chartLabel(told, axis !== null)}
          lines={lines}
          marks={marks}
          notes={pennants}
          releases={releases}
          spans={spans}
          levels={levels}
          log={shown.log}
          band={shown.band}
          zero={shown.zero}
          range={range}
          onRange={keep}
          tip={tip}
          height={420}
          {...(xName ? { xName } : {})}
        />
        <Releases views={told} />
        <PriceChanges views={told} />
        <QuarantineWords lines={held} />
        <p class="soft small hint">
          Drag to zoom, Shift and drag to pan, scroll to zoom once clicked, double-click to reset. Click a point to pin
          it.
        </p>
      </section>
      {marks.length > 0 && <Changes views={told} labels={labels} />}
      <Notes views={told} notes={allNotes(told)} at={noteAt} reload={reload} />
      <Related views={told} query={query} />
    </div>
  );
}

function chartLabel(views: readonly SeriesView[], commits: boolean): string {
  const { line } = views[0]!;
  const what = views.length > 1 ? `${views.length} series` : `${line.metric} of ${line.case}`;
  return `${what} over ${commits ? "commits" : "time"}`;
}

/** The newest releases in words, for those who cannot see the axis. */
function Releases({ views }: { views: readonly SeriesView[] }) {
  const all = allReleases(views);
  if (!all.length) return null;
  const newest = all.slice(-FEW).reverse();
  return (
    <p class="soft small">
      Releases: {newest.map((one) => `${one.name} (${date(one.at)})`).join(", ")}
      {all.length > FEW && `, and ${count(all.length - FEW, "older one")}`}
    </p>
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
        <Fact name="Latest">
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

const COMMITS: readonly number[] = [50, 200, 1000];

interface ToolsProps {
  shown: Shown;
  range: ChartRange | null;
  views: SeriesView[];
  axis: CommitAxis | null;
  keep: (range: ChartRange | null) => void;
}

function Tools({ shown, range, views, axis, keep }: ToolsProps) {
  return (
    <div class="row tools-row">
      <div class="row group" role="group" aria-label="Visible range">
        {(axis ? lastCommits(axis) : lastDays(views)).map(([name, part]) => (
          <button key={name} type="button" onClick={() => keep(part)}>
            {name}
          </button>
        ))}
        <button type="button" disabled={!range} onClick={() => keep(null)}>
          All
        </button>
      </div>
      <div class="row group" role="group" aria-label="Horizontal axis">
        <AxisButton text="By time" on={!shown.commits} x="" />
        <AxisButton text="By commit" on={shown.commits} x="commit" />
      </div>
      <div class="row group" role="group" aria-label="Chart options">
        <Toggle name="log" text="Log scale" on={shown.log} />
        <Toggle name="zero" text="From zero" on={shown.zero} disabled={shown.log} />
        <Toggle name="band" text="Intervals" on={shown.band} off="0" />
        <button type="button" aria-pressed={shown.each} onClick={() => change({ rounds: shown.each ? "" : "each" })}>
          Each round
        </button>
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

/** What was in view has no meaning on the other axis. */
function AxisButton({ text, on, x }: { text: string; on: boolean; x: string }) {
  return (
    <button type="button" aria-pressed={on} onClick={() => change({ x, from: "", to: "" })}>
      {text}
    </button>
  );
}

function lastDays(views: readonly SeriesView[]): [string, ChartRange][] {
  const last = Math.max(...views.map((view) => view.at.at(-1) ?? 0));
  const first = Math.min(...views.map((view) => view.at[0] ?? Infinity));
  return SPANS.filter(([, span]) => last - first > span).map(([name, span]) => [name, [last - span, last]]);
}

function lastCommits(axis: CommitAxis): [string, ChartRange][] {
  const all = axis.keys.length;
  return COMMITS.filter((most) => most < all).map((most) => [`${most} commits`, [all - most - 0.5, all]]);
}

const SHOWN_BRANCHES = 8; // as buttons; the others in a list

/** The branches beside the main line: those that are pressed stand beside it, the others are pale behind it. */
function Branches({ views, shown }: { views: SeriesView[]; shown: Shown }) {
  const all = useMemo(() => branchesOf(views), [views]);
  const on = shown.branches;
  if (!all.length && !on.length) return null;
  const first = all.filter(({ name }, index) => index < SHOWN_BRANCHES || on.includes(name));
  const rest = all.filter((one) => !first.includes(one));
  const set = (names: readonly string[]) => change({ branch: listed(names) });
  const toggle = (name: string) => set(on.includes(name) ? on.filter((one) => one !== name) : [...on, name]);
  const drawn = on.filter((name) => all.some((one) => one.name === name)); // in the order of their colours
  const main = [...new Set(views.map((view) => view.main))].filter(Boolean).join(", ");
  return (
    <div class="row group branches" role="group" aria-label="Branches">
      <span class="small">
        <b>{main || "Main line"}</b> <span class="soft">and</span>
      </span>
      {first.map(({ name, points }) => (
        <button key={name} type="button" aria-pressed={on.includes(name)} onClick={() => toggle(name)}>
          {views.length === 1 && on.includes(name) && <Swatch index={1 + drawn.indexOf(name)} />} {name}{" "}
          <span class="soft">{whole(points)}</span>
        </button>
      ))}
      {rest.length > 0 && (
        <select
          aria-label="Another branch"
          value=""
          onChange={(event) => event.currentTarget.value && toggle(event.currentTarget.value)}
        >
          <option value="">{count(rest.length, "more branch", "more branches")}</option>
          {rest.slice(0, 500).map(({ name, points }) => (
            <option key={name} value={name}>
              {name} ({whole(points)})
            </option>
          ))}
        </select>
      )}
      <Toggle name="others" text="Other branches" on={shown.others} off="0" />
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

function keepRange(range: ChartRange | null, axis: CommitAxis | null): void {
  const [from, to] = !range ? ["", ""] : axis ? namesOfRange(axis, range) : range.map((end) => String(Math.round(end)));
  change({ from, to }, true);
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
          <a class="remove" href={without(line.key)} aria-label={`Remove ${labels[index]} from the chart`}>
            ×
          </a>
        </li>
      ))}
    </ul>
  );
}

// ---- at a point ----

interface ReadingProps {
  view: PlacedView;
  index: number;
  pinned: boolean;
  named: string;
  annotate: (at: number) => void;
}

function Reading({ view, index, pinned, named, annotate }: ReadingProps) {
  const { line, when, point, low, high, runs, revisions } = view;
  const branch = view.branches[view.branch[index] ?? -1] ?? "";
  const rounds = view.rounds[index] ?? 1;
  const run = runs[view.run[index] ?? -1] ?? "";
  const revision = revisions[view.revision[index] ?? -1] ?? "";
  const held = { point: point[index] ?? 0, low: low[index] ?? null, high: high[index] ?? null };
  return (
    <div class="reading">
      <div>
        <strong>{value(held.point, line.unit, 4)}</strong> <span class="soft">{interval(held, line.unit, 4)}</span>
      </div>
      {named && <div>{named}</div>}
      <div class="soft">
        {date(when[index] ?? 0)}
        {rounds > 1 && `, ${count(rounds, "round")} together`}
        {branch && branch !== view.main && `, on ${branch}`}
      </div>
      {revision && (
        <div>
          <CommitLink id={revision} repository={repositoryOf(view, view.revision[index] ?? -1)} />{" "}
          {view.subjects[revision] ?? ""}
        </div>
      )}
      {pinned ? (
        <div class="row reading-links">
          <a href={href("results", [String(view.result[index] ?? "")])}>Result</a>
          {run && <a href={href("runs", [run])}>Run</a>}
          <button type="button" onClick={() => annotate(when[index] ?? 0)}>
            Add note
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
      <h2 id="changes">Changes</h2>
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
  const effect = <Effect effect={mark.effect} unit={changeUnit(mark.line)} verdict={mark.verdict} interval />;
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
      aria-label={`Add to chart: ${line.case} ${paramsText(line.params)} ${line.metric}`}
    >
      Add to chart
    </a>
  );
  const name = (line: SeriesLine) => <a href={href("series", [line.key])}>{paramsText(line.params) || line.case}</a>;
  const columns: Column<SeriesLine>[] = [
    { name: "case", head: "Series", heads: true, wide: true, cell: name },
    { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric },
    { name: "last", head: "Latest", number: true, cell: (line) => value(line.last, line.unit) },
    { name: "spark", head: "Trend", cell: (line) => <Spark values={line.spark} /> },
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

function allReleases(views: readonly SeriesView[]): SeriesView["releases"] {
  const byName = new Map(views.flatMap((view) => view.releases).map((one) => [`${one.name} ${one.revision}`, one]));
  return [...byName.values()].sort((a, b) => a.at - b.at);
}

function allNotes(views: readonly SeriesView[]): SeriesView["notes"] {
  const byId = new Map(views.flatMap((view) => view.notes).map((note) => [note.id, note]));
  return [...byId.values()].sort((a, b) => a.at - b.at);
}
