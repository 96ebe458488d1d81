// Which sides are compared: runs, revisions, branches, machines or runtimes, each found by searching.
//   <Sides query={route.query} />  a, b, c, ... of the address, "run:..." or "machine:..."; the first is the baseline

import { isStatic, isThere, publishedQueries, useData, type Query } from "../../api";
import { count, date, revisionShort } from "../../parts/format";
import { change, href } from "../../route";
import type { MachinesPage, Matrix, RunLine, RunsPage } from "../../shapes";
import { Pick, type Option } from "./pick";

export const KINDS = {
  run: "Run",
  revision: "Revision",
  branch: "Branch",
  machine: "Machine",
  runtime: "Runtime",
} as const;
type Kind = keyof typeof KINDS;

/** Names of the sides in the address; the letters are also what columns are called. */
export const NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"] as const;

/** The sides that the address names, in their order; at least two, which may be empty. */
export function sidesOf(query: Query): string[] {
  const given = NAMES.map((name) => query[name] ?? "");
  return given.slice(0, Math.max(2, given.findLastIndex(Boolean) + 1));
}

/** The part of an address that names these sides and no others. */
export function namedSides(sides: readonly string[]): Query {
  return Object.fromEntries(NAMES.map((name, i) => [name, sides[i]]));
}

/** What the server is asked for to compare these sides. */
export function askedSides(sides: readonly string[]): { a: string; b: string | string[] } {
  const [a = "", ...others] = sides;
  return { a, b: others.length === 1 ? others[0]! : others };
}

/** What a side is called where there is no room for its label. */
export function shortName(place: number, count: number): string {
  return count === 2 ? (place ? "after" : "before") : NAMES[place]!.toUpperCase();
}

export function Sides({ query }: { query: Query }) {
  const sides = sidesOf(query);
  const [a = "", b = ""] = sides;
  const canSwap = sides.length === 2 && (a || b) && isThere("compare", askedSides([b, a]));
  return (
    <div class={sides.length === 2 ? "sides" : "sides several"}>
      {sides.map((given, i) => (
        <>
          {i === 1 && sides.length === 2 && (
            <span class="sides-swap" key="swap">
              {canSwap && <a href={href("compare", [], { ...query, a: b, b: a, open: undefined })}>Swap</a>}
            </span>
          )}
          <SideField key={NAMES[i]} place={i} given={given} sides={sides} query={query} />
        </>
      ))}
      {!isStatic && sides.length < NAMES.length && a && b && (
        <p class="sides-more">
          <button
            type="button"
            onClick={() => change({ [NAMES[sides.length]!]: `${sideOf(sides.at(-1)!)[0]}:`, open: undefined })}
          >
            Add a side
          </button>
        </p>
      )}
    </div>
  );
}

interface FieldProps {
  place: number;
  given: string;
  sides: readonly string[];
  query: Query;
}

function SideField({ place, given, sides, query }: FieldProps) {
  const [kind, value] = sideOf(given);
  const put = (side: string) => change({ ...namedSides(sides.map((one, i) => (i === place ? side : one))), ...FRESH });
  // A published site holds some comparisons, and offers those.
  const isOffered = (option: Option) => !isStatic || offered(sides, place).includes(`${kind}:${option.value}`);
  const options = withPart(useOptions(kind), kind, value).filter(isOffered);
  return (
    <fieldset class="side">
      <legend>{legend(place, sides.length)}</legend>
      <label class="field">
        Kind
        <select value={kind} onChange={(event) => put(`${event.currentTarget.value}:`)}>
          {kindsOffered(sides, place, kind).map(([word, title]) => (
            <option key={word} value={word}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Pick
        label={KINDS[kind]}
        options={options}
        chosen={value}
        free={!isStatic && kind !== "machine" && kind !== "runtime" ? "Use" : ""}
        onPick={(picked) => put(`${kind}:${picked}`)}
      />
      {sides.length > 2 && (
        <span class="row side-moves">
          {place > 0 && (
            <a href={href("compare", [], { ...query, ...namedSides(toFront(sides, place)), ...FRESH })}>
              Make baseline
            </a>
          )}
          <a href={href("compare", [], { ...query, ...namedSides(sides.filter((_, i) => i !== place)), ...FRESH })}>
            Remove<span class="aside"> {legend(place, sides.length)}</span>
          </a>
        </span>
      )}
    </fieldset>
  );
}

/** Of a published site: what can stand at a place beside the other side. */
function offered(sides: readonly string[], place: number): string[] {
  const [here, there] = place ? (["b", "a"] as const) : (["a", "b"] as const);
  const other = sides[place ? 0 : 1] ?? "";
  const any = sideOf(other)[1] === "";
  return publishedQueries("compare").flatMap((one) => (any || one[there] === other ? (one[here] ?? []) : []));
}

/** The kinds of sides: all of a server's, and of a published site those that it can compare. */
function kindsOffered(sides: readonly string[], place: number, present: Kind): [string, string][] {
  const all = Object.entries(KINDS);
  if (!isStatic) return all;
  const there = new Set<string>(offered(sides, place).map((side) => sideOf(side)[0]));
  return all.filter(([word]) => word === present || there.has(word));
}

const FRESH: Query = { open: undefined, pages: undefined, rest: undefined }; // other sides have other rows

function toFront(sides: readonly string[], place: number): string[] {
  return [sides[place]!, ...sides.filter((_, i) => i !== place)];
}

function legend(place: number, count: number): string {
  if (count === 2) return place ? "After" : "Before";
  return place ? `Side ${shortName(place, count)}` : "Baseline A";
}

/** "run:ID" as its kind and its value; a value without a kind is a run. */
export function sideOf(given: string): [Kind, string] {
  const [kind = "", ...rest] = given.split(":");
  return isKind(kind) && rest.length ? [kind, rest.join(":")] : ["run", given];
}

function isKind(word: string): word is Kind {
  return Object.hasOwn(KINDS, word);
}

function useOptions(kind: Kind): Option[] {
  const runs = useData<RunsPage>(kind === "run" || kind === "revision" || kind === "branch" ? "runs" : null).data;
  const machines = useData<MachinesPage>(kind === "machine" ? "machines" : null).data;
  const matrix = useData<Matrix>(kind === "runtime" ? "matrix" : null, { columns: "runtime" }).data;
  if (kind === "run") return runs?.runs.map(runOption) ?? [];
  if (kind === "revision") return revisionOptions(runs?.runs ?? []);
  if (kind === "branch") return branchOptions(runs?.runs ?? []);
  if (kind === "machine")
    return machines?.machines.map((m) => ({ value: m.key, name: m.name, hint: count(m.results, "result") })) ?? [];
  return runtimes(matrix).map((name) => ({ value: name, name }));
}

/** The options, and what stands for "KEY@RUN": what a machine measured in one run. */
function withPart(options: Option[], kind: Kind, value: string): Option[] {
  const [key = "", run = ""] = value.split("@");
  if (kind !== "machine" || !run) return options;
  const name = options.find((option) => option.value === key)?.name ?? key;
  return [{ value, name: `${name} in run ${run}` }, ...options];
}

function runOption(run: RunLine): Option {
  const about = [
    run.tags.join(", "),
    run.revision ? `${revisionShort(run.revision.id)} ${run.revision.subject}` : "",
    run.cases.join(", "),
  ];
  return {
    value: run.id,
    name: `${date(run.started_at)}  ${run.id}`,
    hint: about.filter(Boolean).join(" · ").slice(0, 120),
  };
}

function revisionOptions(runs: readonly RunLine[]): Option[] {
  const known = new Map<string, Option>();
  for (const { revision } of runs)
    if (revision && !known.has(revision.id))
      known.set(revision.id, {
        value: revision.id,
        name: `${revisionShort(revision.id)} ${revision.subject}`,
        hint: revision.branch,
      });
  return [...known.values()];
}

function branchOptions(runs: readonly RunLine[]): Option[] {
  const runsOf = new Map<string, number>();
  for (const { revision } of runs)
    if (revision?.branch) runsOf.set(revision.branch, (runsOf.get(revision.branch) ?? 0) + 1);
  return [...runsOf].map(([value, of]) => ({ value, name: value, hint: count(of, "recent run") }));
}

function runtimes(matrix: Matrix | undefined): readonly string[] {
  if (!matrix) return [];
  if (matrix.column_dimension === "runtime") return matrix.columns;
  return matrix.row_dimension === "runtime" ? matrix.rows : (matrix.choices.runtime ?? []);
}
