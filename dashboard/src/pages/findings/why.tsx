// What differs between the two sides of a change, and what that points to.

import type { ComponentChildren } from "preact";
import { CommitLink } from "../../parts/codelinks";
import { change, value } from "../../parts/format";
import { written } from "../../parts/facts";
import { Table, type Column } from "../../parts/table";
import type { Value } from "../../shapes";

type Facts = { [name: string]: Value };

interface Difference {
  what: string;
  before: ComponentChildren;
  after: ComponentChildren;
}

const CAUSES: { [cause: string]: string } = {
  code: "The code: nothing else that is recorded differs.",
  environment: "The environment: the code is the same on both sides.",
  either: "The code or the environment: both differ.",
  unknown: "Nothing that is recorded differs.",
};
const KINDS = ["packages", "runtimes", "system", "knobs"];

export function Why({ why, unit, repository }: { why: Facts; unit: string; repository: string }) {
  if (!Object.keys(why).length) return null;
  const cause = String(why["cause"] ?? "unknown");
  const rows = differences(why, repository);
  const also = entries(why["also"]).filter((pair): pair is [string, number] => typeof pair[1] === "number");
  return (
    <section class="section panel" aria-labelledby="why">
      <h2 id="why">Differences</h2>
      <p>
        {why["remeasured"] !== undefined && "Measured again, the old revision points here: "}
        {CAUSES[cause] ?? cause}
      </p>
      {rows.length > 0 && (
        <div class="why-table">
          <Table
            caption="Differences between before and after"
            columns={COLUMNS}
            rows={rows}
            keyOf={(row) => row.what}
          />
        </div>
      )}
      {also.length > 0 && (
        <p class="more">
          Other metrics of the case:{" "}
          {also.map(([name, ratio]) => `${name} ${change(ratio, name.startsWith("latency") ? unit : "")}`).join(", ")}.
        </p>
      )}
    </section>
  );
}

const COLUMNS: Column<Difference>[] = [
  { name: "what", head: "Property", heads: true, cell: (row) => row.what },
  { name: "before", head: "Before", cell: (row) => row.before },
  { name: "after", head: "After", cell: (row) => row.after },
];

function differences(why: Facts, repository: string): Difference[] {
  return [
    ...pair("commit", why["revision"], (of) =>
      typeof of === "string" ? <CommitLink id={of} repository={repository} /> : "none",
    ),
    ...pair("definition of the case", why["definition"], text),
    ...pair("uncommitted changes", why["uncommitted"], text),
    ...KINDS.flatMap((kind) => entries(why[kind]).flatMap(([name, sides]) => pair(`${kind} ${name}`, sides, text))),
    ...operators(why["operators"]),
    ...pair("peak memory", why["memory"], (of) => (typeof of === "number" ? value(of, "B") : "none")),
  ];
}

function operators(told: Value | undefined): Difference[] {
  if (!Array.isArray(told)) return [];
  return told.flatMap((one) => {
    const facts = Object.fromEntries(entries(one));
    const kind = facts["kind"] && facts["kind"] !== facts["name"] ? ` (${text(facts["kind"])})` : "";
    return pair(`operator ${text(facts["name"] ?? null)}${kind}`, facts["seconds"], (of) =>
      typeof of === "number" ? value(of, "s") : "none",
    );
  });
}

function pair(what: string, sides: Value | undefined, write: (of: Value) => ComponentChildren): Difference[] {
  if (!Array.isArray(sides) || sides.length !== 2) return [];
  return [{ what, before: write(sides[0] ?? null), after: write(sides[1] ?? null) }];
}

function text(of: Value): string {
  return of === null ? "none" : written(of);
}

function entries(of: Value | undefined): [string, Value][] {
  return of !== null && typeof of === "object" && !Array.isArray(of) ? Object.entries(of) : [];
}
