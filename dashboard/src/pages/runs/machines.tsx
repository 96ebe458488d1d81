// A run that several machines measured: a row for each case, a column for each machine, the chief metric in the cells.
//   <ByMachine run={run.line.id} table={run.by_machine} />  nothing where one machine measured

import { isThere } from "../../api";
import { askedSides, namedSides } from "../compare/sides";
import { estimate, interval, whole } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { MachineCase, MachineTable } from "../../shapes";

const SIDES = 8; // of one comparison, at most

export function ByMachine({ run, table }: { run: string; table: MachineTable | null | undefined }) {
  if (!table) return null;
  const columns: Column<MachineCase>[] = [
    { name: "case", head: "Case", heads: true, by: (line) => line.label, cell: (line) => line.label },
    { name: "metric", head: "Metric", cell: (line) => line.metric },
    ...table.machines.map(([key, name], place) => machineColumn(key, name, place)),
  ];
  const newest = table.machines.slice(0, SIDES).map(([key]) => `machine:${key}`);
  const here = newest.map((side) => `${side}@${run}`);
  return (
    <section class="section">
      <div class="row">
        <h2>By machine</h2>
        <span class="row push">
          {isThere("compare", askedSides(here)) && (
            <a href={href("compare", [], namedSides(here))}>Compare the machines in this run</a>
          )}
          {isThere("compare", askedSides(newest)) && (
            <a href={href("compare", [], namedSides(newest))}>Compare their newest values</a>
          )}
        </span>
      </div>
      <Table
        caption="The chief metric of each case on every machine"
        columns={columns}
        rows={table.cases}
        keyOf={(line) => line.label}
        cards
        scrolls
      />
      {table.total > table.cases.length && (
        <p class="soft">
          The first {whole(table.cases.length)} of {whole(table.total)} cases; the table below has all.
        </p>
      )}
    </section>
  );
}

function machineColumn(key: string, name: string, place: number): Column<MachineCase> {
  return {
    name: key,
    head: name,
    number: true,
    by: (line) => line.cells[place]?.estimate?.point ?? null,
    cell: (line) => <Cell line={line} place={place} />,
  };
}

/** A number with its interval, or how the attempts ended; it leads to the result. */
function Cell({ line, place }: { line: MachineCase; place: number }) {
  const cell = line.cells[place];
  if (!cell) return <span class="soft">–</span>;
  if (!cell.estimate) return <a href={href("results", [cell.result])}>{cell.status}</a>;
  return (
    <>
      <a href={href("results", [cell.result])}>{estimate(cell.estimate, line.unit)}</a>
      <div class="soft small">{interval(cell.estimate, line.unit)}</div>
    </>
  );
}
