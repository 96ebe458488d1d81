// Which findings a list shows, and in which order: what its address says.

import { get, isStatic, useAsked, useLast, type Answer, type Asked, type Query } from "../../api";
import { causeEntry, causeName } from "../../parts/cause";
import { caseLabel } from "../../parts/format";
import { chosenOf, facetKey } from "../../parts/facets";
import { href, listed, unlisted } from "../../route";
import type { CauseLine, CausesPage, Facet, FindingLine, FindingsPage, State } from "../../shapes";

export const STATES: readonly State[] = ["open", "acknowledged", "suspected", "resolved", "ignored"];
export const NOBODY = "-"; // as an assignee in the address
const USUAL: readonly State[] = ["open", "acknowledged"];
/** What lists of findings are narrowed by, beside their states, and what the API calls several of each in a request. */
const FACETS = {
  verdict: "verdicts",
  suite: "suites",
  machine: "machines",
  metric: "metrics",
  branch: "branches",
  tag: "tags",
  assignee: "assignees",
} as const;
const FACET_NAMES = Object.keys(FACETS) as (keyof typeof FACETS)[];
const FILTERS = ["state", ...FACET_NAMES.map(facetKey), "words", "sort", "each"];
const PAGE = "500";

type Order<Row> = (one: Row) => number | string;

/** What a list has a row for: a finding, or a cause. */
export interface Kind<Row> {
  noun: string;
  path: "findings" | "causes";
  rows: (page: FindingsPage | CausesPage) => readonly Row[];
  /** Rows that a list holds at the most, the newest. */
  most: number;
  at: (one: Row) => number;
  states: (one: Row) => readonly string[];
  findings: (one: Row) => number;
  /** What words are looked for in, where no server does it. */
  text: (one: Row) => readonly (string | undefined)[];
  /** What it has of a facet: values with their labels; none of what only a server knows. */
  values: (one: Row, facet: keyof typeof FACETS) => readonly (readonly [value: string, label: string])[];
  orders: { [name: string]: Order<Row> };
}

/** A list as its address describes it. */
export interface Found<Row> {
  /** In the order of the address. */
  rows: readonly Row[];
  /** Findings of the whole store by state. */
  counts: { [state: string]: number };
  facets: readonly Facet[];
  /** All rows that fit, and their findings. */
  total: number;
  findings: number;
}

const same = (value: string): readonly [string, string] => [value, value];

export const FINDINGS: Kind<FindingLine> = {
  noun: "finding",
  path: "findings",
  rows: (page) => (page as FindingsPage).findings,
  most: 2000,
  at: (one) => one.found_at,
  states: (one) => [one.state],
  findings: () => 1,
  text: (one) => [
    caseLabel(one.case, one.params),
    one.metric,
    one.machine_name,
    one.assignee,
    one.culprit?.subject,
    one.culprit?.revision,
    one.id,
  ],
  values: (one, facet) => {
    if (facet === "machine") return [[one.machine, one.machine_name]];
    if (facet === "assignee") return [same(one.assignee || NOBODY)];
    return facet === "branch" || facet === "tag" ? [] : [same(one[facet])];
  },
  orders: {
    case: (one) => caseLabel(one.case, one.params),
    effect: (one) => Math.abs(Math.log(one.effect.point || 1)),
    machine: (one) => one.machine_name,
    found: (one) => one.found_at,
    state: (one) => STATES.indexOf(one.state),
    assignee: (one) => one.assignee,
  },
};

export const CAUSES: Kind<CauseLine> = {
  noun: "cause",
  path: "causes",
  rows: (page) => (page as CausesPage).causes,
  most: 500,
  at: (one) => one.newest_at,
  states: (one) => Object.keys(one.states),
  findings: (one) => one.findings,
  text: (one) => [
    causeName(one),
    caseLabel(one.lead.case, one.lead.params),
    ...one.metrics,
    ...one.suites,
    ...Object.values(one.machines),
    ...one.assignees,
    one.culprit?.subject,
    one.culprit?.author,
    one.culprit?.revision,
    one.id,
    one.lead.id,
  ],
  values: (one, facet) => {
    if (facet === "machine") return Object.entries(one.machines);
    if (facet === "assignee") return (one.assignees.length ? one.assignees : [NOBODY]).map(same);
    if (facet === "verdict") return [...(one.worse ? ["worse"] : []), ...(one.better ? ["better"] : [])].map(same);
    if (facet === "suite") return one.suites.map(same);
    return facet === "metric" ? one.metrics.map(same) : [];
  },
  orders: {
    case: causeName,
    effect: (one) => one.largest,
    series: (one) => one.series,
    machine: (one) => Object.values(one.machines).join(),
    found: (one) => one.newest_at,
    state: (one) => STATES.indexOf(one.state),
    assignee: (one) => one.assignees.join(),
  },
};

/** The states that are shown: those of people's work unless the address says otherwise. */
export function statesOf(query: Query): readonly State[] {
  const given = STATES.filter((state) => (query["state"] ?? "").split(",").includes(state));
  return given.length ? given : USUAL;
}

/** The query with what older addresses said otherwise: one machine, where now several may be chosen. */
export function current(query: Query): Query {
  const { machine, ...rest } = query;
  return machine ? { ...rest, machines: rest["machines"] || listed([machine]) } : query;
}

/** What the list that an address describes holds; asked again when `again` changes. */
export function useList<Row extends { id: string }>(kind: Kind<Row>, query: Query, again = 0): Answer<Found<Row>> {
  const answer = useLast(useAsked(`${kind.path} ${JSON.stringify(asked(query))}`, () => ask(kind, query), again));
  return answer.data ? { ...answer, data: { ...answer.data, rows: inOrder(kind, answer.data.rows, query) } } : answer;
}

/** A row of the list that an address describes: a finding or a cause, and behind which id it is shown. */
export interface Entry {
  id: string;
  entry: string;
}

/** The rows of the list that the address describes, as it was when the page was opened. */
export function useEntries(query: Query): readonly Entry[] {
  const each = isEach(query);
  const key = JSON.stringify(asked(query));
  const findings = useAsked(each ? key : null, () => ask(FINDINGS, query)).data?.rows ?? [];
  const causes = useAsked(each ? null : key, () => ask(CAUSES, query)).data?.rows ?? [];
  return each
    ? inOrder(FINDINGS, findings, query).map(({ id }) => ({ id, entry: id }))
    : inOrder(CAUSES, causes, query).map((one) => ({ id: one.id, entry: causeEntry(one) }));
}

/** Rows in the order that the address asks for. */
export function inOrder<Row extends { id: string }>(kind: Kind<Row>, rows: readonly Row[], query: Query): Row[] {
  const sort = query["sort"] || "-found";
  const by = kind.orders[sort.replace(/^-/, "")] ?? kind.orders["found"]!;
  const sign = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => sign * compared(by(a), by(b)) || kind.at(b) - kind.at(a) || a.id.localeCompare(b.id));
}

/** The address of a finding within the list that `query` describes. */
export function linkTo(id: string, query: Query): string {
  return href("findings", [id], listQuery(query));
}

/** What of an address describes a list. */
export function listQuery(query: Query): Query {
  return Object.fromEntries(FILTERS.map((name) => [name, current(query)[name]]));
}

/** Whether the list has a row for each finding, and not for each cause. */
export function isEach(query: Query): boolean {
  return Boolean(query["each"]);
}

/** What a list is narrowed to, for a change of what it shows and of nothing else. */
export function onlyOf(query: Query): { [name: string]: readonly string[] } {
  const chosen = FACET_NAMES.map((name) => [FACETS[name], chosenOf(name, current(query))] as const);
  return { states: statesOf(query), ...Object.fromEntries(chosen.filter(([, values]) => values.length)) };
}

/** What a server is asked for. */
function asked(query: Query): Asked {
  const keys = FACET_NAMES.map(facetKey);
  const chosen = keys.map((key) => [key, unlisted(current(query)[key])]);
  return { ...Object.fromEntries(chosen), state: statesOf(query), words: query["words"] };
}

async function ask<Row extends { id: string }>(kind: Kind<Row>, query: Query): Promise<Found<Row>> {
  if (isStatic) return published(kind, await get<FindingsPage | CausesPage>(kind.path), query);
  const rows: Row[] = [];
  let first: FindingsPage | CausesPage | undefined;
  for (let after = ""; ; ) {
    const part: Asked = after ? { after } : { facets: "true" };
    const page = await get<FindingsPage | CausesPage>(kind.path, { ...asked(query), limit: PAGE, ...part });
    first ??= page;
    rows.push(...kind.rows(page));
    after = page.next;
    if (!after || rows.length >= kind.most) break;
  }
  const findings = "causes" in first ? first.findings : first.total;
  return { rows, counts: first.counts, facets: first.facets, total: first.total, findings: findings as number };
}

/** A published site has one page of all: it is narrowed and counted here. */
export function published<Row extends { id: string }>(
  kind: Kind<Row>,
  page: FindingsPage | CausesPage,
  query: Query,
): Found<Row> {
  const all = kind.rows(page);
  const rows = all.filter((one) => fits(kind, one, query));
  const facets = ["state" as const, ...FACET_NAMES].map((name): Facet => {
    const values = new Map<string, { value: string; label: string; count: number }>();
    for (const one of all) {
      if (!fits(kind, one, query, name)) continue;
      for (const [value, label] of name === "state" ? kind.states(one).map(same) : kind.values(one, name))
        values.set(value, { value, label, count: (values.get(value)?.count ?? 0) + 1 });
    }
    const ordered = [...values.values()].sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
    return { name, values: ordered.slice(0, 20), more: Math.max(0, ordered.length - 20) };
  });
  const findings = rows.reduce((sum, one) => sum + kind.findings(one), 0);
  return { rows, counts: page.counts, facets, total: rows.length, findings };
}

function fits<Row>(kind: Kind<Row>, one: Row, query: Query, besides = ""): boolean {
  const text = kind.text(one).join(" ").toLowerCase();
  const words = (query["words"] ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (
    (besides === "state" || kind.states(one).some((state) => statesOf(query).includes(state as State))) &&
    words.every((word) => text.includes(word)) &&
    FACET_NAMES.every((name) => {
      const wanted = name === besides ? [] : chosenOf(name, current(query));
      return !wanted.length || kind.values(one, name).some(([value]) => wanted.includes(value));
    })
  );
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return Number(a) - Number(b);
}
