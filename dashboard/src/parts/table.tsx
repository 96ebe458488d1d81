// A table whose columns sort by a click or Enter on their heads; the head stays while the page scrolls below it.
//   <Table caption="Runs" columns={[{ name: "at", head: "Started", cell: (r) => ..., by: (r) => r.at, number: true }]}
//          rows={rows} keyOf={(r) => r.id} sorted="-at" cards />
// `by` makes a column sortable (null sorts last). `sorted` names the first order, "-" for the largest first.
// `onSort` hears of a new order (to keep it in the address). On a phone the table scrolls, or with `cards` becomes cards.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import "./table.css";

export interface Column<Row> {
  name: string;
  head: string;
  cell: (row: Row) => ComponentChildren;
  by?: (row: Row) => number | string | null;
  number?: boolean;
  /** Takes the room that is left. */
  wide?: boolean;
  /** The cell names its row (one column at most). */
  heads?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  sorted?: string;
  onSort?: (sorted: string) => void;
  cards?: boolean;
  rowClass?: (row: Row) => string;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, keyOf, cards = false, rowClass } = props;
  const [sorted, setSorted] = useState(props.sorted ?? "");
  const sort = (name: string) => {
    const next = sorted === name ? `-${name}` : name;
    setSorted(next);
    props.onSort?.(next);
  };
  return (
    <div class={cards ? "table-room has-cards" : "table-room"}>
      <table class="table">
        <caption class="aside">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} sorted={sorted} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered(props.rows, columns, sorted).map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map((column) => (
                <Cell key={column.name} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({ column, sorted, sort }: { column: Column<Row>; sorted: string; sort: (name: string) => void }) {
  const up = sorted === column.name;
  const order = up ? "ascending" : sorted === `-${column.name}` ? "descending" : undefined;
  return (
    <th scope="col" class={look(column)} aria-sort={order}>
      {column.by ? (
        <button type="button" class="plain" onClick={() => sort(column.name)}>
          {column.head}
          <span class="table-order" aria-hidden="true">
            {order ? (up ? "↑" : "↓") : ""}
          </span>
        </button>
      ) : (
        column.head
      )}
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const inside = column.cell(row);
  if (column.heads) return <th scope="row" class={look(column)}>{inside}</th>;
  return (
    <td class={look(column)} data-head={column.head}>
      {inside}
    </td>
  );
}

function look<Row>(column: Column<Row>): string {
  return `${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`.trim();
}

function ordered<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorted: string): readonly Row[] {
  const by = columns.find((column) => column.name === sorted.replace(/^-/, ""))?.by;
  if (!by) return rows;
  const sign = sorted.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => compared(by(a), by(b), sign));
}

function compared(a: number | string | null, b: number | string | null, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "string" && typeof b === "string") return sign * a.localeCompare(b, "en", { numeric: true });
  return sign * (Number(a) - Number(b));
}
