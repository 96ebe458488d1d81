// Every machine of the lab: what it does, since when, for whom, and why it takes no work.

import { ago, date } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { LabMachineLine } from "../../shapes";
import { MachineState } from "./state";

export function LabMachines({ machines }: { machines: readonly LabMachineLine[] }) {
  const ordered = [...machines].sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  return (
    <section aria-labelledby="lab-machines">
      <h2 id="lab-machines">Machines</h2>
      <Table caption="Machines of the lab" columns={COLUMNS} rows={ordered} keyOf={(one) => one.name} cards />
    </section>
  );
}

const COLUMNS: Column<LabMachineLine>[] = [
  {
    name: "name",
    head: "Machine",
    heads: true,
    by: (one) => one.name,
    cell: (one) => (
      <span>
        <a href={href("lab", ["machines", one.name])}>{one.name}</a>{" "}
        <span class="soft small">{one.kind === "host" ? (one.facts["cpu"] ?? "") : one.kind}</span>
      </span>
    ),
  },
  { name: "state", head: "State", by: (one) => one.state, cell: (one) => <MachineState state={one.state} /> },
  { name: "doing", head: "Doing", wide: true, cell: (one) => <Doing machine={one} /> },
  {
    name: "since",
    head: "Since",
    by: (one) => one.job?.leased_at ?? null,
    cell: (one) => (one.job?.leased_at ? <Past at={one.job.leased_at} /> : <span class="soft">–</span>),
  },
  {
    name: "reserved",
    head: "Reserved",
    by: (one) => (isReserved(one) ? one.reserved_for : null),
    cell: (one) => (isReserved(one) ? <Reserved machine={one} /> : <span class="soft">–</span>),
  },
  { name: "seen", head: "Last heard of", by: (one) => one.seen_at, cell: (one) => <Past at={one.seen_at} /> },
];

/** What it measures, or why it measures nothing. */
export function Doing({ machine: { job, reason, who, until, health } }: { machine: LabMachineLine }) {
  const why = [reason && `${reason}${who ? ` (${who})` : ""}`, until !== null && `until ${date(until)}`, health];
  return (
    <span class="lab-doing">
      {job && (
        <span>
          <a href={href("lab", ["runs", job.run])}>{job.case}</a>{" "}
          <span class="soft">{[job.phase, job.who].filter(Boolean).join(", ")}</span>
        </span>
      )}
      {why.some(Boolean) && <span class="soft">{why.filter(Boolean).join("; ")}</span>}
      {!job && !why.some(Boolean) && <span class="soft">–</span>}
    </span>
  );
}

/** Whether somebody has it; where everybody is trusted, that may be somebody without a name. */
export function isReserved(machine: LabMachineLine): boolean {
  return machine.reserved_for !== "" || machine.reserved_until !== null;
}

export function Reserved({ machine }: { machine: LabMachineLine }) {
  return (
    <span>
      {machine.reserved_for || "whoever has no token"}
      {machine.reserved_until !== null && <span class="soft"> until {date(machine.reserved_until)}</span>}
    </span>
  );
}

export function Past({ at }: { at: number }) {
  return at ? (
    <span class="nowrap" title={date(at)}>
      {ago(at)}
    </span>
  ) : (
    <span class="soft">–</span>
  );
}
