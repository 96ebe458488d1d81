// The points of a series apart by branch: the main line in front, those that were chosen beside it, the others pale behind.

import type { SeriesView } from "../../shapes";

/** Points that are drawn as one line. */
export interface BranchPart {
  /** The branch; "" for the main line, undefined for all others together. */
  branch: string | undefined;
  /** Which points of the view; null for all. */
  places: readonly number[] | null;
}

export interface BranchCount {
  name: string;
  points: number;
  last: number;
}

/** The parts of a view, what stands behind first. */
export function partsOf(view: SeriesView, chosen: readonly string[], others: boolean): BranchPart[] {
  const kinds = view.branches.map((name) => (isMain(view, name) ? 0 : chosen.includes(name) ? 1 : 2));
  if (kinds.every((kind) => kind === 0)) return [{ branch: "", places: null }];
  const main: number[] = [];
  const rest: number[] = [];
  const apart = new Map<string, number[]>();
  view.branch.forEach((branch, index) => {
    const name = view.branches[branch] ?? "";
    if (kinds[branch] === 2) rest.push(index);
    else if (kinds[branch] === 0) main.push(index);
    else if (apart.has(name)) apart.get(name)!.push(index);
    else apart.set(name, [index]);
  });
  const strong = chosen.flatMap((branch) => (apart.has(branch) ? [{ branch, places: apart.get(branch)! }] : []));
  return [
    ...(others && rest.length ? [{ branch: undefined, places: rest }] : []),
    ...strong,
    ...(main.length || (!strong.length && !rest.length) ? [{ branch: "", places: main }] : []),
  ];
}

/** The branches beside the main line, the one that was measured last first. */
export function branchesOf(views: readonly SeriesView[]): BranchCount[] {
  const found = new Map<string, BranchCount>();
  for (const view of views)
    view.branch.forEach((branch, index) => {
      const name = view.branches[branch] ?? "";
      if (isMain(view, name)) return;
      const known = found.get(name);
      if (known === undefined) found.set(name, { name, points: 1, last: view.at[index]! });
      else {
        known.points++;
        known.last = Math.max(known.last, view.at[index]!);
      }
    });
  return [...found.values()].sort((a, b) => b.last - a.last || a.name.localeCompare(b.name));
}

/** What has no branch was measured where nobody looked: it is taken as the main line. */
function isMain(view: SeriesView, name: string): boolean {
  return name === view.main || name === "";
}
