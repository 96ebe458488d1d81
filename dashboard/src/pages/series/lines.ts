// From what the server tells of series to what a chart draws.

import type { Query } from "../../api";
import type { ChartLevel, ChartLine, ChartMark, ChartRange } from "../../parts/chart";
import { change, changeUnit } from "../../parts/format";
import { colour } from "../../parts/theme";
import { href, unlisted } from "../../route";
import type { Mark, SeriesLine, SeriesView } from "../../shapes";
import { partsOf } from "./branches";

/** How the address wants it drawn. */
export interface Shown {
  /** Of an axis of time; one of commits is told by their names. */
  range: ChartRange | null;
  commits: boolean;
  /** The rounds of a run as points of their own. */
  each: boolean;
  /** Branches that stand beside the main line. */
  branches: readonly string[];
  /** Whether all other branches are drawn, pale. */
  others: boolean;
  log: boolean;
  zero: boolean;
  band: boolean;
  relative: boolean;
  /** More than two units have no axes of their own. */
  mustRelate: boolean;
}

/** The repository of a revision, by its place among the revisions; what is older than is told names none. */
export function repositoryOf({ revisions, repository, repositories }: SeriesView, place: number): string {
  return repositories[repository[place - (revisions.length - repository.length)] ?? -1] ?? "";
}

export function shownAs(views: readonly SeriesView[], query: Query): Shown {
  const [from, to] = [Number(query["from"]), Number(query["to"])];
  const mustRelate = new Set(views.map((view) => view.line.unit)).size > 2;
  return {
    range: from && to > from ? [from, to] : null,
    commits: query["x"] === "commit",
    each: query["rounds"] === "each",
    branches: unlisted(query["branch"]),
    others: query["others"] !== "0",
    log: query["log"] === "1",
    zero: query["zero"] === "1",
    band: query["band"] !== "0",
    relative: mustRelate || (views.length > 1 && query["relative"] === "1"),
    mustRelate,
  };
}

/** A line, and which points of which view it shows. */
export interface DrawnLine extends ChartLine {
  view: number;
  /** Null for all of them. */
  places: readonly number[] | null;
}

/** The lines of a chart: the second unit at the right, or all relative to the first value of each. Branches stand apart. */
export function linesOf(
  views: readonly SeriesView[],
  relative: boolean,
  branches: readonly string[] = [],
  others = true,
): DrawnLine[] {
  const labels = namesOf(views);
  const unit = views[0]?.line.unit;
  let next = views.length; // colours of branches follow those of series
  const found = views.flatMap((view, index) => {
    const { at, point, low, high } = view;
    const base = relative ? (point.find((one) => one > 0) ?? 1) : 1;
    return partsOf(view, branches, others).map(({ branch, places }): DrawnLine => {
      const part = <T>(column: readonly T[]) => (places ? places.map((place) => column[place]!) : column);
      const scaled = (column: readonly (number | null)[]) =>
        relative ? part(column).map((one) => (one === null ? null : (100 * one) / base)) : part(column);
      const pale = branch === undefined;
      return {
        label: labels[index]! + (pale ? ", other branches" : branch ? `, ${branch}` : ""),
        unit: relative ? "%" : view.line.unit,
        at: part(at),
        point: scaled(point),
        ...(pale ? { pale } : { low: scaled(low), high: scaled(high) }),
        colour: branch ? next++ : index,
        ...(relative ? {} : { right: view.line.unit !== unit }),
        view: index,
        places,
      };
    });
  });
  return [...found.filter((line) => line.pale), ...found.filter((line) => !line.pale)]; // what is pale stands behind
}

/** What each series is called on its chart. */
export function namesOf(views: readonly SeriesView[]): string[] {
  return labelsOf(views.map((view) => view.line));
}

/** Names that tell series apart: what they have in common is left out. */
function labelsOf(lines: readonly SeriesLine[]): string[] {
  const facts = lines.map((line) => {
    const params = Object.entries(line.params).map(([name, given]) => [name, `${name}=${String(given)}`] as const);
    return new Map<string, string>([
      ["", line.case],
      ...params,
      ["metric ", line.metric],
      ["machine ", line.machine_name],
    ]);
  });
  const names = [...new Set(facts.flatMap((one) => [...one.keys()]))];
  const telling = names.filter((name) => new Set(facts.map((one) => one.get(name))).size > 1);
  const kept = lines.length > 1 && telling.length ? telling : ["", "metric "];
  return facts.map((one) => kept.flatMap((name) => one.get(name) ?? []).join(" "));
}

/** The change points of a series; `of` names it where there are several. */
export function marksOf({ line, marks }: SeriesView, of: string): ChartMark[] {
  return marks.map((mark) => ({
    at: mark.at,
    label: change(mark.effect.point, changeUnit(line)) + (isDrift(mark) ? ", drift" : ""),
    of,
    verdict: mark.verdict,
    up: mark.effect.point >= 1,
    href: href("findings", [mark.finding]),
  }));
}

/** Whether the value changed little by little. */
export function isDrift(mark: Mark): boolean {
  return mark.until > mark.at;
}

/** The heights between change points: before the first, along each drift, and after each until the next. */
export function levelsOf(marks: readonly Mark[], at: readonly number[]): ChartLevel[] {
  const sorted = marks.toSorted((a, b) => a.at - b.at);
  const drifts = sorted.filter(isDrift);
  const within = (mark: Mark) =>
    drifts.filter((drift) => drift !== mark && drift.at < mark.at && mark.at < drift.until);
  const outer = sorted.filter((mark) => !within(mark).length);
  const [first, last] = [at[0] ?? 0, at.at(-1) ?? 0];
  return outer.flatMap((mark, index) => {
    const next = outer[index + 1]?.at ?? last;
    const before = index ? [] : [{ from: first, to: mark.at, ...ends(mark.before), colour: ink }];
    if (!isDrift(mark)) return [...before, { from: mark.at, to: next, ...ends(mark.after), colour: ink }];
    const along = slopeOf(
      mark,
      sorted.filter((one) => within(one).includes(mark)),
      at,
    );
    const point = along.at(-1)?.end ?? mark.after.point;
    return [
      ...before,
      ...along,
      { from: mark.until, to: Math.max(mark.until, next), point, low: null, high: null, colour: ink },
    ];
  });
}

/** A drift from point to point: the same share each time, and beside it the steps that lie on it. */
export function slopeOf(drift: Mark, steps: readonly Mark[], at: readonly number[]): ChartLevel[] {
  const times = [...new Set(at.filter((one) => one >= drift.at && one <= drift.until))];
  const grows = drift.effect.point ** (1 / Math.max(1, times.length - 1));
  let point = drift.before.point;
  return times.slice(1).map((to, index) => {
    const from = times[index]!;
    const stepped = steps
      .filter((step) => step.at > from && step.at <= to)
      .reduce((by, step) => by * step.effect.point, 1);
    const begin = point * stepped;
    point = begin * grows;
    return { from, to, point: begin, end: point, low: null, high: null, colour: ink };
  });
}

const ink = () => colour("ink");

function ends({ point, low, high }: Mark["before"]): Pick<ChartLevel, "point" | "low" | "high"> {
  return { point, low, high };
}
