// The series around the change: the levels before and after with their intervals, the suspects' commits, and notes.

import { useMemo } from "preact/hooks";
import { isThere, type Query } from "../../api";
import { CommitLink } from "../../parts/codelinks";
import { Chart, type ChartLevel, type ChartNote, type ChartRange } from "../../parts/chart";
import { date, estimate, interval, probability, revisionShort } from "../../parts/format";
import { colour } from "../../parts/theme";
import { change, href } from "../../route";
import type { Estimate, FindingView, SeriesView } from "../../shapes";
import { isDrift, levelsOf as allLevels, linesOf, marksOf, repositoryOf } from "../series/lines";

const AROUND = 60; // points on each side at first

export function Picture({ finding, series, query }: { finding: FindingView; series: SeriesView; query: Query }) {
  const lines = useMemo(() => linesOf([series], false), [series]);
  const marks = useMemo(() => marksOf(series, ""), [series]);
  const levels = useMemo(() => levelsOf(finding, series), [finding, series]);
  const notes = useMemo(() => pennants(finding, series), [finding, series]);
  const around = useMemo(() => windowOf(finding, series), [finding, series]);
  const [from, to] = [Number(query["from"]), Number(query["to"])];
  const range: ChartRange | null = from && to > from ? [from, to] : query["all"] ? null : around;
  return (
    <section class="panel section" aria-label="The series around the change">
      <div class="row">
        <h2>Around the change</h2>
        <div class="row push" role="group" aria-label="Visible range">
          <button
            type="button"
            aria-pressed={range === around}
            onClick={() => change({ from: "", to: "", all: "" }, true)}
          >
            Around the change
          </button>
          <button type="button" aria-pressed={range === null} onClick={() => keep(null)}>
            Show all
          </button>
        </div>
      </div>
      <Chart
        label={`${series.line.metric} of ${series.line.case} around the change`}
        lines={lines}
        marks={marks}
        notes={notes}
        levels={levels}
        range={range}
        onRange={keep}
        tip={(line, index, pinned) => (
          <Reading view={series} index={lines[line]?.places?.[index] ?? index} pinned={pinned} />
        )}
        height={320}
      />
      {series.notes.length > 0 && <Notes series={series} before={notes.length - series.notes.length} />}
    </section>
  );
}

function Reading({ view, index, pinned }: { view: SeriesView; index: number; pinned: boolean }) {
  const held: Estimate = {
    point: view.point[index] ?? 0,
    low: view.low[index] ?? null,
    high: view.high[index] ?? null,
    confidence: 0.95,
    method: "",
  };
  const revision = view.revisions[view.revision[index] ?? -1] ?? "";
  const run = view.runs[view.run[index] ?? -1] ?? "";
  const result = String(view.result[index] ?? "");
  return (
    <>
      <div>
        <strong>{estimate(held, view.line.unit, 4)}</strong>{" "}
        <span class="soft">{interval(held, view.line.unit, 4)}</span>
      </div>
      <div class="soft">{date(view.at[index] ?? 0)}</div>
      {revision && (
        <div>
          <CommitLink id={revision} repository={repositoryOf(view, view.revision[index] ?? -1)} />{" "}
          {view.subjects[revision] ?? ""}
        </div>
      )}
      {pinned && (
        <div class="row">
          {isThere(`results/${result}`) && <a href={href("results", [result])}>Result</a>}
          {isThere(`runs/${run}`) && <a href={href("runs", [run])}>Run</a>}
        </div>
      )}
    </>
  );
}

/** What was written beside the series; the numbers are those on the chart. */
function Notes({ series, before }: { series: SeriesView; before: number }) {
  return (
    <ol class="finding-notes" aria-label="Notes">
      {series.notes.map((note, index) => (
        <li key={note.id} id={`note-${note.id}`} tabIndex={-1}>
          <b class="mark-number">{before + index + 1}</b> {note.text}{" "}
          <span class="soft small">
            {date(note.at)} {note.who}
          </span>
        </li>
      ))}
    </ol>
  );
}

function keep(range: ChartRange | null): void {
  change(
    range
      ? { from: String(Math.round(range[0])), to: String(Math.round(range[1])), all: "" }
      : { from: "", to: "", all: "1" },
    true,
  );
}

/** Where the change lies among the points; the newest when its run is not there. */
function placeOf({ line }: FindingView, { run, runs, at, marks }: SeriesView): number {
  const number = runs.indexOf(line.run);
  const place = number < 0 ? -1 : run.indexOf(number);
  if (place >= 0) return place;
  const mark = marks.find((one) => one.finding === line.id)?.at ?? Infinity;
  const after = at.findIndex((one) => one >= mark);
  return after < 0 ? at.length - 1 : after;
}

/** Everything when that is not much more. */
function windowOf(finding: FindingView, series: SeriesView): ChartRange | null {
  const { at } = series;
  const place = placeOf(finding, series);
  const drift = series.marks.find((one) => one.finding === finding.line.id && isDrift(one));
  const end = drift
    ? Math.max(
        place,
        at.findLastIndex((one) => one <= drift.until),
      )
    : place;
  const [from, to] = [Math.max(0, place - AROUND), Math.min(at.length - 1, end + AROUND)];
  return at.length > 2 && to - from < at.length - 1 ? [at[from]!, at[to]!] : null;
}

/** Before the change back to the one before it, and after it up to the next. */
function levelsOf({ line }: FindingView, { at, marks }: SeriesView): ChartLevel[] {
  const place = marks.findIndex((mark) => mark.finding === line.id);
  const here = marks[place]?.at;
  if (here === undefined) return [];
  if (isDrift(marks[place]!)) return allLevels(marks, at);
  const ink = () => colour("ink");
  const [from, to] = [marks[place - 1]?.at ?? at[0] ?? here, marks[place + 1]?.at ?? at.at(-1) ?? here];
  const level = ({ point, low, high }: Estimate) => ({ point, low, high, colour: ink });
  return [
    { from, to: here, ...level(line.before) },
    { from: here, to, ...level(line.after) },
  ];
}

/** The suspects that were measured, where they were first; then what people wrote. */
function pennants(finding: FindingView, series: SeriesView): ChartNote[] {
  const suspects = suspectsAt(finding, series).map(({ suspect, at }, index) => ({
    id: -1 - index,
    at,
    text: `${probability(suspect.probability)} ${revisionShort(suspect.revision)} ${suspect.subject}`,
  }));
  return [...suspects, ...series.notes];
}

/** Each suspect with the instant of its first point, those without one left out. Their order gives their numbers. */
export function suspectsAt(
  { suspects }: FindingView,
  { revisions, revision, at }: SeriesView,
): { suspect: FindingView["suspects"][number]; at: number }[] {
  return suspects.flatMap((suspect) => {
    const number = revisions.indexOf(suspect.revision);
    const place = number < 0 ? -1 : revision.indexOf(number);
    return place < 0 ? [] : [{ suspect, at: at[place]! }];
  });
}
