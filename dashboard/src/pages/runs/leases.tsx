// The machines of clouds that were leased for a run, what each cost, and how much machines of one shape differ.
//   <Leases run={run} />  nothing where none was leased

import { duration, value } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import type { LeaseLine, RunView } from "../../shapes";

const COLUMNS: Column<LeaseLine>[] = [
  { name: "instance", head: "Instance", heads: true, by: (line) => line.instance, cell: (line) => line.instance },
  { name: "machine", head: "Machine", by: (line) => line.machine, cell: (line) => line.machine },
  { name: "zone", head: "Zone", by: (line) => line.zone, cell: (line) => line.zone },
  { name: "time", head: "Time", number: true, by: (line) => line.seconds, cell: (line) => duration(line.seconds) },
  {
    name: "cost",
    head: "Cost",
    number: true,
    by: (line) => line.cost,
    cell: (line) => (line.cost === null ? "not known" : value(line.cost, line.currency)),
  },
];

export function Leases({ run }: { run: RunView }) {
  if (!run.leases.length && !run.instances.length) return null;
  return (
    <section class="section stack-tight">
      <h2>Leased machines</h2>
      {run.leases.length > 0 && (
        <>
          <Table
            caption="Machines of clouds that were leased for this run"
            columns={COLUMNS}
            rows={run.leases}
            keyOf={(line) => line.instance}
            cards
            scrolls
          />
          <p class="soft">From the order of each machine to its last result{totals(run.leases)}.</p>
        </>
      )}
      {run.instances.length > 0 && (
        <ul>
          {run.instances.map((said) => (
            <li key={said}>{said}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What all machines cost together, by currency; nothing where no price is known. */
export function totals(leases: readonly LeaseLine[]): string {
  const sums = new Map<string, number>();
  for (const { cost, currency } of leases) if (cost !== null) sums.set(currency, (sums.get(currency) ?? 0) + cost);
  const each = [...sums].map(([currency, amount]) => value(amount, currency));
  return each.length ? `: ${each.join(" and ")} in all` : "";
}
