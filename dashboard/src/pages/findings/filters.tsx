// What the list is narrowed to. All of it is in the address.

import type { Query } from "../../api";
import { Facets } from "../../parts/facets";
import { Words } from "../../parts/filters";
import { whole } from "../../parts/format";
import { change, href, open } from "../../route";
import type { Facet, State } from "../../shapes";
import { isEach, NOBODY, STATES, statesOf } from "./chosen";

interface FiltersProps {
  /** What the list can be narrowed by, with how many rows each choice would leave. */
  facets: readonly Facet[];
  counts: { [state: string]: number };
  /** How many are shown, of how many. */
  shown: string;
  query: Query;
}

export function Filters({ facets, counts, shown, query }: FiltersProps) {
  const narrowed = Object.entries(query).some(([name, given]) => name !== "sort" && name !== "each" && given);
  const states = facets.find((one) => one.name === "state");
  const others = facets.filter((one) => one.name !== "state").map(named);
  return (
    <search class="stack finding-filters">
      <div class="row">
        <States counts={states ? countsOf(states) : counts} query={query} />
        <Grouping query={query} />
        <span class="soft push" role="status">
          {shown}
        </span>
      </div>
      <form class="row filters" onSubmit={(event) => event.preventDefault()}>
        <Words given={query["words"]} placeholder="case, metric, commit, assignee" />
        <button type="button" disabled={!narrowed} onClick={() => open(href("findings", [], { each: query["each"] }))}>
          Clear filters
        </button>
      </form>
      <Facets facets={others} query={query} reset={["machine"]} />
    </search>
  );
}

function countsOf({ values }: Facet): { [state: string]: number } {
  return Object.fromEntries(values.map(({ value, count }) => [value, count]));
}

/** The facet with words for what nobody has. */
function named(facet: Facet): Facet {
  if (facet.name !== "assignee") return facet;
  const values = facet.values.map((one) => (one.value === NOBODY ? { ...one, label: "Unassigned" } : one));
  return { ...facet, values };
}

function States({ counts, query }: { counts: { [state: string]: number }; query: Query }) {
  const on = statesOf(query);
  const toggle = (state: State) =>
    change({ state: STATES.filter((one) => on.includes(one) !== (one === state)).join(",") });
  return (
    <div class="row finding-states" role="group" aria-label="States">
      {STATES.map((state) => (
        <button key={state} type="button" aria-pressed={on.includes(state)} onClick={() => toggle(state)}>
          {state} <span class="soft">{whole(counts[state] ?? 0)}</span>
        </button>
      ))}
    </div>
  );
}

/** One row for each cause, or one for each finding. */
function Grouping({ query }: { query: Query }) {
  const each = isEach(query);
  return (
    <div class="row finding-states" role="group" aria-label="Rows">
      <button type="button" aria-pressed={!each} onClick={() => change({ each: "" })}>
        By cause
      </button>
      <button type="button" aria-pressed={each} onClick={() => change({ each: "yes" })}>
        Each finding
      </button>
    </div>
  );
}
