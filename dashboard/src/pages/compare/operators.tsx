// Which operators take another time than before.
//   <OperatorDiff before={result} after={result} of=" of B and A" />  nothing when one side has no operators

import { useState } from "preact/hooks";
import type { ResultView } from "../../shapes";
import { percent, value } from "../../parts/format";
import { changes, kindChanges, type Change } from "./operatorchanges";
import { Table, type Column } from "../../parts/table";

const AT_FIRST = 10;
const WIDTH = 140;

export function OperatorDiff({ before, after, of = "" }: { before: ResultView; after: ResultView; of?: string }) {
  const [kinds, setKinds] = useState(before.runtime !== after.runtime); // they name their operators as they like
  if (!before.operators.length || !after.operators.length) return null;
  const found = kinds
    ? kindChanges(before.operators, after.operators, before.runtime !== after.runtime)
    : changes(before.operators, after.operators);
  const sum = (of: ResultView) => of.operators.reduce((total, o) => total + o.seconds, 0);
  const largest = Math.max(...found.map((change) => Math.abs(change.difference))) || 1;
  return (
    <section>
      <div class="row">
        <h3>Operators{of}</h3>
        <span class="soft">
          {value(sum(before), "s")} per call before, {value(sum(after), "s")} after
        </span>
        <button type="button" aria-pressed={kinds} onClick={() => setKinds(!kinds)}>
          By kind
        </button>
      </div>
      <Table
        caption={`Operators${of}, largest difference first`}
        columns={columns(kinds, largest)}
        rows={found}
        keyOf={(change) => change.key}
        few={AT_FIRST}
      />
    </section>
  );
}

function columns(kinds: boolean, largest: number): Column<Change>[] {
  const kind: Column<Change> = { name: "kind", head: "Kind", cell: (change) => change.kind };
  return [
    { name: "name", head: kinds ? "Kind" : "Operator", cell: (change) => change.name, heads: true },
    ...(kinds ? [] : [kind]),
    { name: "before", head: "Before", cell: (change) => taken(change.before, "absent"), number: true },
    { name: "after", head: "After", cell: (change) => taken(change.after, "absent"), number: true },
    { name: "difference", head: "Difference", cell: words, by: (change) => change.difference, number: true },
    { name: "drawn", head: "", cell: (change) => <Bar difference={change.difference} largest={largest} /> },
  ];
}

function taken(seconds: number | null, otherwise: string) {
  return seconds === null ? <span class="soft">{otherwise}</span> : value(seconds, "s");
}

function words({ before, difference }: Change): string {
  const sign = difference < 0 ? "−" : "+";
  const relative = before ? ` (${sign}${percent(Math.abs(difference / before))})` : "";
  return difference ? `${sign}${value(Math.abs(difference), "s")}${relative}` : "none";
}

function Bar({ difference, largest }: { difference: number; largest: number }) {
  const long = (Math.abs(difference) / largest) * (WIDTH / 2 - 2);
  return (
    <svg class={`difference ${difference > 0 ? "worse" : "better"}`} width={WIDTH} height="12" aria-hidden="true">
      <line x1={WIDTH / 2} x2={WIDTH / 2} y1="0" y2="12" />
      <rect x={difference > 0 ? WIDTH / 2 : WIDTH / 2 - long} y="2" width={long} height="8" />
    </svg>
  );
}
