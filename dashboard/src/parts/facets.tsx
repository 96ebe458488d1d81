// What a list can be narrowed by: boxes with how many each would leave. All of it is in the address.
//   <Facets facets={page.facets} query={query} reset={["after"]} />
// Of one facet several values may be chosen, and any of them fits; of several facets, all must.

import { useEffect, useRef } from "preact/hooks";
import type { Query } from "../api";
import { change, listed, unlisted } from "../route";
import type { Facet } from "../shapes";
import { whole } from "./format";
import "./facets.css";

const PARAM = "param.";
/** Where the address keeps what is chosen of a facet; the API has the same names. */
const KEYS: { [name: string]: string } = { machine: "machines", metric: "metrics", branch: "branch", tag: "tags" };
const WORDS: { [name: string]: string } = {
  machine: "Machine",
  metric: "Metric",
  branch: "Branch",
  tag: "Tag",
  verdict: "Verdict",
  suite: "Suite",
  assignee: "Assignee",
};

/** The parameter of an address that holds what was chosen of a facet other than a case's parameters. */
export function facetKey(name: string): string {
  return KEYS[name] ?? name;
}

/** The parameters of an address that hold what was chosen of facets. */
export const FACET_KEYS: readonly string[] = [...Object.values(KEYS), "param"];

/** What was chosen of all facets, as the API takes it. */
export function facetQuery(query: Query): { [name: string]: readonly string[] } {
  return Object.fromEntries(FACET_KEYS.map((name) => [name, unlisted(query[name])]));
}

/** What was chosen of one facet. */
export function chosenOf(name: string, query: Query): readonly string[] {
  if (!name.startsWith(PARAM)) return unlisted(query[KEYS[name] ?? name]);
  const own = `${name.slice(PARAM.length)}=`;
  return unlisted(query["param"])
    .filter((pair) => pair.startsWith(own))
    .map((pair) => pair.slice(own.length));
}

/** The changes of an address that choose a value of a facet, or let it go. */
export function toggled(name: string, value: string, query: Query): { [name: string]: string } {
  const isParam = name.startsWith(PARAM);
  const key = isParam ? "param" : (KEYS[name] ?? name);
  const entry = isParam ? `${name.slice(PARAM.length)}=${value}` : value;
  const now = unlisted(query[key]);
  return { [key]: listed(now.includes(entry) ? now.filter((one) => one !== entry) : [...now, entry]) };
}

/** `reset` names parameters that have no meaning in another list, such as the page. */
export function Facets({
  facets,
  query,
  reset = [],
}: {
  facets: readonly Facet[];
  query: Query;
  reset?: readonly string[];
}) {
  const useful = facets.filter(
    (facet) => facet.values.length + facet.more > 1 || chosenOf(facet.name, query).length > 0,
  );
  if (!useful.length) return null;
  const anew = Object.fromEntries(reset.map((name) => [name, undefined]));
  return (
    <div class="row facets" role="group" aria-label="Narrow by">
      {useful.map((facet) => (
        <Box
          key={facet.name}
          facet={facet}
          chosen={chosenOf(facet.name, query)}
          toggle={(value) => change({ ...toggled(facet.name, value, query), ...anew }, true)}
        />
      ))}
    </div>
  );
}

interface BoxProps {
  facet: Facet;
  chosen: readonly string[];
  toggle: (value: string) => void;
}

function Box({ facet, chosen, toggle }: BoxProps) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => closeOutside(box), []);
  const name = facet.name.startsWith(PARAM) ? facet.name.slice(PARAM.length) : (WORDS[facet.name] ?? facet.name);
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !box.current?.open) return;
    box.current.open = false;
    box.current.querySelector("summary")?.focus();
  };
  return (
    <details ref={box} class={chosen.length ? "facet chosen" : "facet"} onKeyDown={leave}>
      <summary>
        {name}
        {chosen.length > 0 && <span class="facet-chosen"> {chosen.length}</span>}
      </summary>
      <fieldset>
        <legend class="aside">{name}</legend>
        {facet.values.map(({ value, label, count }) => (
          <label key={value} class={count || chosen.includes(value) ? "" : "soft"}>
            <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
            <span class="facet-label">{label}</span>
            <span class="soft">{whole(count)}</span>
          </label>
        ))}
        {facet.more > 0 && <p class="soft small">{whole(facet.more)} more: search for them</p>}
      </fieldset>
    </details>
  );
}

/** A list that is open closes when somebody goes elsewhere. */
function closeOutside(box: { current: HTMLDetailsElement | null }): () => void {
  const close = (event: Event) => {
    const here = event.target instanceof Node && box.current?.contains(event.target);
    if (box.current && !here) box.current.open = false;
  };
  addEventListener("pointerdown", close);
  addEventListener("focusin", close);
  return () => {
    removeEventListener("pointerdown", close);
    removeEventListener("focusin", close);
  };
}
