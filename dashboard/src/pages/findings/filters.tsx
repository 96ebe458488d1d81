// What the list is narrowed to. All of it is in the address.

import { useEffect, useState } from "preact/hooks";
import type { Query } from "../../api";
import { count } from "../../parts/format";
import { change, href } from "../../route";
import type { State } from "../../shapes";
import { NOBODY, STATES, statesOf, suiteOf, type Found } from "./chosen";

type Option = readonly [value: string, text: string];

export function Filters({ found, shown, query }: { found: Found; shown: number; query: Query }) {
  const { findings } = found;
  const machines = new Map(findings.map((one) => [one.machine, one.machine_name]));
  const people = distinct(findings.map((one) => one.assignee)).map((who): Option => (who ? [who, who] : [NOBODY, "nobody"]));
  const narrowed = Object.entries(query).some(([name, given]) => name !== "sort" && given);
  return (
    <search class="stack finding-filters">
      <div class="row">
        <States counts={found.counts} query={query} />
        <span class="soft push" role="status">
          {shown === findings.length ? count(shown, "finding") : `${shown} of ${count(findings.length, "finding")}`}
          {found.cut && ", the oldest left out"}
        </span>
      </div>
      <form class="row" onSubmit={(event) => event.preventDefault()}>
        <label class="field finding-words">
          Words
          <Words given={query["words"] ?? ""} />
        </label>
        <Choice label="Verdict" name="verdict" query={query} options={distinct(findings.map((one) => one.verdict)).map((one) => [one, one])} />
        <Choice label="Suite" name="suite" query={query} options={distinct(findings.map((one) => suiteOf(one.case))).map((one) => [one, one])} />
        <Choice label="Machine" name="machine" query={query} options={[...machines]} />
        <Choice label="Who" name="assignee" query={query} options={people} />
        <button type="button" disabled={!narrowed} onClick={() => void (location.hash = href("findings"))}>
          Clear
        </button>
      </form>
    </search>
  );
}

function States({ counts, query }: { counts: { [state: string]: number }; query: Query }) {
  const on = statesOf(query);
  const toggle = (state: State) => change({ state: STATES.filter((one) => on.includes(one) !== (one === state)).join(",") });
  return (
    <div class="row finding-states" role="group" aria-label="States">
      {STATES.map((state) => (
        <button key={state} type="button" aria-pressed={on.includes(state)} onClick={() => toggle(state)}>
          {state} <span class="soft">{(counts[state] ?? 0).toLocaleString("en-US")}</span>
        </button>
      ))}
    </div>
  );
}

/** Kept here while it is typed; the address follows after a moment. */
function Words({ given }: { given: string }) {
  const [words, setWords] = useState(given);
  useEffect(() => setWords(given), [given]);
  useEffect(() => {
    if (words.trim() === given) return;
    const timer = setTimeout(() => change({ words: words.trim() }, true), 200);
    return () => clearTimeout(timer);
  }, [words]);
  return <input type="search" value={words} placeholder="case, metric, commit, who" onInput={(event) => setWords(event.currentTarget.value)} />;
}

function Choice({ label, name, query, options }: { label: string; name: string; query: Query; options: readonly Option[] }) {
  const given = query[name] ?? "";
  if (options.length < 2 && !given) return null;
  const known = !given || options.some(([value]) => value === given);
  return (
    <label class="field">
      {label}
      <select value={given} onChange={(event) => change({ [name]: event.currentTarget.value })}>
        <option value="">any</option>
        {!known && <option value={given}>{given}</option>}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort((a, b) => a.localeCompare(b));
}
