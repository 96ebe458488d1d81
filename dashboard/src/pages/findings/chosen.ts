// Which findings a list shows, and in which order: what its address says.

import { get, isStatic, useAsked, type Answer, type Query } from "../../api";
import { caseLabel } from "../../parts/format";
import { href } from "../../route";
import type { FindingLine, FindingsPage, State } from "../../shapes";

export const STATES: readonly State[] = ["open", "acknowledged", "suspected", "resolved", "ignored"];
export const NOBODY = "-"; // as an assignee in the address
const USUAL: readonly State[] = ["open", "acknowledged"];
const FILTERS = ["state", "verdict", "suite", "machine", "assignee", "words", "sort"] as const;
const MOST = 2000; // findings of a state
const PAGE = "500";

export interface Found {
  findings: FindingLine[];
  counts: { [state: string]: number };
  /** Older ones were left out. */
  cut: boolean;
}

/** The states that are shown: those of people's work unless the address says otherwise. */
export function statesOf(query: Query): readonly State[] {
  const given = STATES.filter((state) => (query["state"] ?? "").split(",").includes(state));
  return given.length ? given : USUAL;
}

/** The findings in these states, whatever else they are; asked again when `again` changes. */
export function useFindings(states: readonly State[], again = 0): Answer<Found> {
  return useAsked(
    states.join(","),
    async () => joined(await Promise.all(isStatic ? [all("")] : states.map(all)), states),
    again,
  );
}

/** Those that the address asks for, in its order. */
export function chosen(findings: readonly FindingLine[], query: Query): FindingLine[] {
  const sort = query["sort"] || "-found";
  const by = ORDERS[sort.replace(/^-/, "")] ?? ORDERS["found"]!;
  const sign = sort.startsWith("-") ? -1 : 1;
  const fitting = findings.filter((one) => fits(one, query));
  return fitting.sort((a, b) => sign * compared(by(a), by(b)) || b.found_at - a.found_at || a.id.localeCompare(b.id));
}

/** By what lists can be ordered. */
export const ORDERS: { [name: string]: (one: FindingLine) => number | string } = {
  case: (one) => caseLabel(one.case, one.params),
  effect: (one) => Math.abs(Math.log(one.effect.point || 1)),
  machine: (one) => one.machine_name,
  found: (one) => one.found_at,
  state: (one) => STATES.indexOf(one.state),
  assignee: (one) => one.assignee,
};

/** The address of a finding within the list that `query` describes. */
export function linkTo(id: string, query: Query): string {
  return href("findings", [id], listQuery(query));
}

/** What of an address describes a list. */
export function listQuery(query: Query): Query {
  return Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
}

function fits(one: FindingLine, query: Query): boolean {
  const { verdict, suite, machine, assignee } = query;
  const text = [
    caseLabel(one.case, one.params),
    one.metric,
    one.machine_name,
    one.assignee,
    one.culprit?.subject,
    one.culprit?.revision,
    one.id,
  ]
    .join(" ")
    .toLowerCase();
  const words = (query["words"] ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (
    (!verdict || one.verdict === verdict) &&
    (!suite || one.suite === suite) &&
    (!machine || one.machine === machine) &&
    (!assignee || one.assignee === (assignee === NOBODY ? "" : assignee)) &&
    words.every((word) => text.includes(word))
  );
}

async function all(state: State | ""): Promise<Found> {
  const findings: FindingLine[] = [];
  for (let after = ""; ; ) {
    const page = await get<FindingsPage>("findings", { state, limit: isStatic ? "" : PAGE, after });
    findings.push(...page.findings);
    after = page.next;
    if (!after || findings.length >= MOST) return { findings, counts: page.counts, cut: Boolean(after) };
  }
}

function joined(parts: readonly Found[], states: readonly State[]): Found {
  return {
    findings: parts.flatMap((part) => part.findings).filter((one) => states.includes(one.state)),
    counts: parts[0]?.counts ?? {},
    cut: parts.some((part) => part.cut),
  };
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return Number(a) - Number(b);
}
