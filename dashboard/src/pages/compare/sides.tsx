// Which two sides are compared: runs, revisions, machines or backends, each found by searching.
//   <Sides query={route.query} />  a and b of the address, "run:..." or "machine:..."

import { isStatic, isThere, useData, type Query } from "../../api";
import { change, href } from "../../route";
import type { MachinesPage, Matrix, RunLine, RunsPage } from "../../shapes";
import { count, date, revisionShort } from "../../parts/format";
import { Pick, type Option } from "./pick";

export const KINDS = { run: "Run", revision: "Revision", machine: "Machine", runtime: "Backend" } as const;
type Kind = keyof typeof KINDS;

export function Sides({ query }: { query: Query }) {
  const { a = "", b = "" } = query;
  const canSwap = (a || b) && isThere("compare", { a: b, b: a });
  return (
    <div class="sides">
      <SideField label="Before" name="a" given={a} other={b} />
      <span class="sides-swap">
        {canSwap && <a href={href("compare", [], { ...query, a: b, b: a, open: undefined })}>Swap</a>}
      </span>
      <SideField label="After" name="b" given={b} other={a} />
    </div>
  );
}

function SideField({ label, name, given, other }: { label: string; name: "a" | "b"; given: string; other: string }) {
  const [kind, value] = sideOf(given);
  // A published site holds some comparisons, and offers those.
  const isOffered = (option: Option) => {
    const side = `${kind}:${option.value}`;
    return (
      !other ||
      sideOf(other)[1] === "" ||
      isThere("compare", name === "a" ? { a: side, b: other } : { a: other, b: side })
    );
  };
  const options = useOptions(kind).filter(isOffered);
  return (
    <fieldset class="side">
      <legend>{label}</legend>
      <label class="field">
        Kind
        <select value={kind} onChange={(event) => change({ [name]: `${event.currentTarget.value}:`, open: undefined })}>
          {Object.entries(KINDS).map(([word, title]) => (
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
        free={!isStatic && (kind === "run" || kind === "revision") ? "Use" : ""}
        onPick={(picked) => change({ [name]: `${kind}:${picked}`, open: undefined })}
      />
    </fieldset>
  );
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
  const runs = useData<RunsPage>(kind === "run" || kind === "revision" ? "runs" : null).data;
  const machines = useData<MachinesPage>(kind === "machine" ? "machines" : null).data;
  const matrix = useData<Matrix>(kind === "runtime" ? "matrix" : null, { columns: "runtime" }).data;
  if (kind === "run") return runs?.runs.map(runOption) ?? [];
  if (kind === "revision") return revisionOptions(runs?.runs ?? []);
  if (kind === "machine")
    return machines?.machines.map((m) => ({ value: m.key, name: m.name, hint: count(m.results, "result") })) ?? [];
  return runtimes(matrix).map((name) => ({ value: name, name }));
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

function runtimes(matrix: Matrix | undefined): readonly string[] {
  if (!matrix) return [];
  if (matrix.column_dimension === "runtime") return matrix.columns;
  return matrix.row_dimension === "runtime" ? matrix.rows : (matrix.choices.runtime ?? []);
}
