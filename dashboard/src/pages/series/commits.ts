// Series over commits instead of time: equal distances, in the order of the commits. What was measured of no commit that
// is known has a place of its own, by its time.

import type { ChartRange } from "../../parts/chart";
import { firstFrom } from "../../parts/chart/data";
import { revisionShort } from "../../parts/format";
import type { SeriesView } from "../../shapes";

/** A view with its instants beside the places at which it is drawn. */
export interface PlacedView extends SeriesView {
  /** Of each point: when it was measured. `at` is where it is drawn. */
  when: readonly number[];
}

export interface CommitAxis {
  /** What stands at each place: a commit, or a run of no commit. */
  keys: readonly string[];
  /** Of each place. */
  places: ReadonlyMap<string, number>;
}

const SHARE = 0.6; // of a commit's room, in which what was measured of it again and again stands side by side
const RUN = "run "; // before the id of a run, which can then be no commit

export function byTime(view: SeriesView): PlacedView {
  return { ...view, when: view.at };
}

/** The commits of all the views in their order: by date, and those of one second as they were measured. */
export function commitAxis(views: readonly SeriesView[]): CommitAxis {
  const found = new Map<string, { at: number; seen: number }>();
  for (const view of views) {
    view.at.forEach((seen, index) => {
      const key = keyOf(view, index);
      const known = found.get(key);
      if (known === undefined) {
        const at = key.startsWith(RUN) ? seen : (view.committed[view.revision[index]!] ?? seen);
        found.set(key, { at, seen });
      } else if (seen < known.seen) known.seen = seen;
    });
  }
  const sorted = [...found].sort(([, a], [, b]) => a.at - b.at || a.seen - b.seen);
  const keys = sorted.map(([key]) => key);
  return { keys, places: new Map(keys.map((key, place) => [key, place])) };
}

/** The view with everything moved to the places of its commits. */
export function byCommit(view: SeriesView, axis: CommitAxis): PlacedView {
  const place = view.at.map((_, index) => axis.places.get(keyOf(view, index)) ?? 0);
  const order = [...place.keys()].sort((a, b) => place[a]! - place[b]! || a - b);
  const xs = spread(order.map((index) => place[index]!));
  const xOf = new Array<number>(order.length);
  order.forEach((index, position) => {
    xOf[index] = xs[position]!;
  });
  const at = (instant: number) => xOf[Math.min(firstFrom(view.at, instant), xOf.length - 1)] ?? 0;
  const inOrder = <T>(column: readonly T[]) => order.map((index) => column[index]!);
  return {
    ...view,
    at: xs,
    when: inOrder(view.at),
    point: inOrder(view.point),
    low: inOrder(view.low),
    high: inOrder(view.high),
    run: inOrder(view.run),
    revision: inOrder(view.revision),
    result: inOrder(view.result),
    rounds: inOrder(view.rounds),
    branch: inOrder(view.branch),
    marks: view.marks.map((mark) => ({
      ...mark,
      at: at(mark.at),
      until: mark.until > mark.at ? Math.max(at(mark.until), at(mark.at) + SHARE) : at(mark.at),
    })),
    notes: view.notes.map((note) => ({ ...note, at: at(note.at) })),
    releases: view.releases.map((one) => ({ ...one, at: axis.places.get(one.revision) ?? at(one.at) })),
  };
}

/** What a place is called on the axis; nothing between places. */
export function placeName(axis: CommitAxis, x: number): string {
  const key = axis.keys[x] ?? "";
  return key.startsWith(RUN) ? key.slice(RUN.length, RUN.length + 8) : revisionShort(key);
}

/** The part in view that the address names by its first and last commit; null for everything. */
export function rangeOf(axis: CommitAxis, from: string, to: string): ChartRange | null {
  const [first, last] = [placeOf(axis, from), placeOf(axis, to)];
  return first === undefined || last === undefined || last < first ? null : [first - 0.5, last + 0.5 + SHARE];
}

/** The commits at the ends of what is in view, as the address names them. */
export function namesOf(axis: CommitAxis, [from, to]: ChartRange): [from: string, to: string] {
  const held = (place: number) => axis.keys[Math.min(Math.max(place, 0), axis.keys.length - 1)] ?? "";
  const first = Math.ceil(from);
  return [held(first), held(Math.max(first, Math.floor(to - SHARE)))];
}

function placeOf(axis: CommitAxis, name: string): number | undefined {
  return name ? axis.places.get(name) : undefined;
}

function keyOf(view: SeriesView, index: number): string {
  return view.revisions[view.revision[index]!] || `${RUN}${view.runs[view.run[index]!] ?? ""}`;
}

/** Places that occur several times in a row, side by side. */
function spread(places: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  const used = new Map<number, number>();
  return places.map((place) => {
    const before = used.get(place) ?? 0;
    used.set(place, before + 1);
    return place + (SHARE * before) / counts.get(place)!;
  });
}
