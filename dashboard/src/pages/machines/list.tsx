// Every machine: what it is, how much it measured, how noisy it was lately.

import type { Query } from "../../api";
import { HealthBadge, Swatch } from "../../parts/badges";
import { ago, date, percent } from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { change, href } from "../../route";
import type { MachineLine } from "../../shapes";
import { drawn, NoiseChart, usual } from "./noise";

export function MachineList({ machines, query }: { machines: MachineLine[]; query: Query }) {
  const lines = drawn(machines);
  if (!machines.length)
    return (
      <Empty title="No machines yet.">
        <p>
          <code>benchwright env</code> describes this one.
        </p>
      </Empty>
    );
  return (
    <div class="stack">
      <h1>Machines</h1>
      <Table
        caption="Machines"
        columns={columns(lines)}
        rows={machines}
        keyOf={(one) => one.key}
        sorted={query["sort"] ?? ""}
        onSort={(sort) => change({ sort }, true)}
        cards
      />
      {lines.length > 0 && (
        <section class="panel section" aria-labelledby="noise">
          <h2 id="noise">Noise over time</h2>
          <p class="soft small noise-words">
            How much the rounds of a run differ: half the width of the intervals, median over its cases. Lower noise
            makes smaller changes visible.
          </p>
          <NoiseChart machines={machines} />
        </section>
      )}
    </div>
  );
}

function columns(lines: readonly MachineLine[]): Column<MachineLine>[] {
  return [
    {
      name: "name",
      head: "Machine",
      heads: true,
      wide: true,
      by: (m) => m.name,
      cell: (m) => <Name machine={m} index={lines.indexOf(m)} />,
    },
    {
      name: "results",
      head: "Results",
      number: true,
      by: (m) => m.results,
      cell: (m) => m.results.toLocaleString("en-US"),
    },
    { name: "failed", head: "Failed", number: true, by: (m) => m.failed, cell: (m) => <Failures machine={m} /> },
    { name: "cases", head: "Cases", number: true, by: (m) => m.cases, cell: (m) => m.cases },
    { name: "noise", head: "Noise", number: true, by: usual, cell: (m) => noiseText(m) },
    { name: "spark", head: "Trend", cell: (m) => <Spark values={m.noise.spread.slice(-30)} /> },
    {
      name: "first",
      head: "First result",
      by: (m) => m.first_at,
      cell: (m) => <span class="nowrap">{ago(m.first_at)}</span>,
    },
    {
      name: "last",
      head: "Last result",
      by: (m) => m.last_at,
      cell: (m) => (
        <span class="nowrap" title={date(m.last_at)}>
          {ago(m.last_at)}
        </span>
      ),
    },
  ];
}

function Name({ machine, index }: { machine: MachineLine; index: number }) {
  return (
    <span class="machine-line">
      {index >= 0 && <Swatch index={index} />}
      <a href={href("machines", [machine.key])}>{machine.name || machine.key}</a>
      <HealthBadge trouble={machine.trouble} quarantine={machine.quarantine} />
    </span>
  );
}

function Failures({ machine: { failed, results } }: { machine: MachineLine }) {
  return failed ? (
    <span class="worse">
      {failed.toLocaleString("en-US")} <span class="small">({percent(failed / results)})</span>
    </span>
  ) : (
    <span class="soft">0</span>
  );
}

export function noiseText(machine: MachineLine): string {
  const half = usual(machine);
  return half === null ? "–" : `± ${percent(half)}`;
}
