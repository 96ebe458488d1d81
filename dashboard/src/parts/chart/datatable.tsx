// What is in view as a table, for those who cannot see the picture and for those who want the figures.

import { useMemo, useState } from "preact/hooks";
import { count, date, value } from "../format";
import type { ChartLine, ChartRange } from "./data";
import { within } from "./tip";

const MOST = 200; // rows: the newest of what is in view

interface DataTableProps {
  label: string;
  lines: readonly ChartLine[];
  range: ChartRange | null;
  xUnit: string;
  xName?: ((x: number) => string) | undefined;
}

export function DataTable(props: DataTableProps) {
  const [open, setOpen] = useState(false);
  return (
    <details class="chart-data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show data as a table</summary>
      {open && <Rows {...props} />}
    </details>
  );
}

function Rows({ label, lines, range, xUnit, xName }: DataTableProps) {
  const place = (x: number) => (xName ? xName(Math.floor(x)) : xUnit === "" ? date(x) : value(x, xUnit));
  const rows = useMemo(() => inView(lines, range), [lines, range?.[0], range?.[1]]); // a chart draws itself again whenever the cursor moves
  const shown = rows.slice(-MOST).reverse();
  return (
    <div class="table-room">
      <table class="table">
        <caption>
          {label}:{" "}
          {rows.length > MOST ? `the latest ${MOST} of ${count(rows.length, "point")}` : count(rows.length, "point")} in
          view
        </caption>
        <thead>
          <tr>
            <th scope="col">{xName ? "Commit" : xUnit === "" ? "When" : "At"}</th>
            {lines.length > 1 && <th scope="col">Series</th>}
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col" class="number">
              Interval
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ line, index }) => (
            <tr key={`${line} ${index}`}>
              <td class="nowrap">{place(lines[line]!.at[index]!)}</td>
              {lines.length > 1 && <td>{lines[line]!.label}</td>}
              <td class="number">{value(lines[line]!.point[index], lines[line]!.unit, 4)}</td>
              <td class="number">{within(lines[line]!, index)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inView(lines: readonly ChartLine[], range: ChartRange | null): { line: number; index: number }[] {
  const [from, to] = range ?? [-Infinity, Infinity];
  const found = lines.flatMap(({ at }, line) =>
    at.flatMap((x, index) => (x >= from && x <= to ? [{ line, index, x }] : [])),
  );
  return found.sort((a, b) => a.x - b.x);
}
