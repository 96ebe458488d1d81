// What the list is narrowed to. All of it is in the address.

import type { Query } from "../../api";
import { Choice, Words, type Option } from "../../parts/filters";
import { count } from "../../parts/format";
import { change, href, open } from "../../route";
import type { State } from "../../shapes";
import { NOBODY, STATES, statesOf, type Found } from "./chosen";

export function Filters({ found, shown, query }: { found: Found; shown: number; query: Query }) {
  const { findings } = found;
  const machines = new Map(findings.map((one) => [one.machine, one.machine_name]));
  const people = distinct(findings.map((one) => one.assignee)).map(
    (who): Option => (who ? [who, who] : [NOBODY, "nobody"]),
  );
  const choices: [label: string, name: string, options: Option[], every?: string][] = [
    ["Verdict", "verdict", named(findings.map((one) => one.verdict))],
    ["Suite", "suite", named(findings.map((one) => one.suite))],
    ["Machine", "machine", [...machines]],
    ["Who", "assignee", people, "Everybody"],
  ];
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
      <form class="row filters" onSubmit={(event) => event.preventDefault()}>
        <Words given={query["words"]} placeholder="case, metric, commit, who" />
        {choices.map(
          ([label, name, options, every]) =>
            (options.length > 1 || query[name]) && (
              <Choice key={name} label={label} name={name} query={query} options={options} every={every} />
            ),
        )}
        <button type="button" disabled={!narrowed} onClick={() => open(href("findings"))}>
          Clear
        </button>
      </form>
    </search>
  );
}

function States({ counts, query }: { counts: { [state: string]: number }; query: Query }) {
  const on = statesOf(query);
  const toggle = (state: State) =>
    change({ state: STATES.filter((one) => on.includes(one) !== (one === state)).join(",") });
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

function named(texts: readonly string[]): Option[] {
  return distinct(texts).map((text) => [text, text]);
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort((a, b) => a.localeCompare(b));
}
