// A table whose columns sort by a click or Enter on their heads; the head stays while the page scrolls below it.
//   <Table caption="Runs" columns={[{ name: "at", head: "Started", cell: (r) => ..., by: (r) => r.at, number: true }]}
//          rows={rows} keyOf={(r) => r.id} sorted="-at" cards />
// `by` makes a column sortable (null sorts last). `sorted` names the first order, "-" for the largest first.
// With `onSort` the order is the caller's (to keep it in the address): `sorted` says it. With `few` only so many rows are
// shown until a button is pressed. With `more` a row has more below it: its first cell holds an <Opener>, and `more` gives
// what is below, or null while it is closed. On a phone the table scrolls, or with `cards` each row becomes a card.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { whole } from "./format";
import "./table.css";

export interface Column<Row> {
  name: string;
  head: string;
  /** Below the words of the head. */
  under?: ComponentChildren;
  cell: (row: Row) => ComponentChildren;
  by?: (row: Row) => number | string | null;
  number?: boolean;
  /** The first click puts the largest first. */
  largestFirst?: boolean;
  /** Takes the room that is left. */
  wide?: boolean;
  /** The cell names its row (one column at most). */
  heads?: boolean;
  /** The cell holds a box to choose the row by: on a phone in the corner of its card. */
  tick?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  sorted?: string;
  onSort?: (sorted: string) => void;
  few?: number;
  more?: (row: Row) => ComponentChildren;
  cards?: boolean;
  /** May be wider than the page. */
  scrolls?: boolean;
  rowClass?: (row: Row) => string;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, few = Infinity, onSort } = props;
  const [own, setOwn] = useState(props.sorted ?? "");
  const [all, setAll] = useState(false);
  const sorted = onSort ? (props.sorted ?? "") : own;
  const sort = ({ name, largestFirst }: Column<Row>) => {
    const [first, second] = largestFirst ? [`-${name}`, name] : [name, `-${name}`];
    (onSort ?? setOwn)(sorted === first ? second : first);
  };
  const inOrder = ordered(rows, columns, sorted);
  return (
    <>
      <div class={`table-room ${props.cards ? "has-cards" : ""} ${props.scrolls ? "scrolls" : ""}`}>
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
            {(all ? inOrder : inOrder.slice(0, few)).map((row) => (
              <Lines key={props.keyOf(row)} row={row} table={props} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > few && (
        <button type="button" class="table-all" onClick={() => setAll(!all)}>
          {all ? `Show the first ${few}` : `Show all ${whole(rows.length)}`}
        </button>
      )}
    </>
  );
}

/** A row, and below it what it opens to. */
function Lines<Row>({ row, table: { columns, more, rowClass } }: { row: Row; table: TableProps<Row> }) {
  const below = more?.(row);
  return (
    <>
      <tr class={[rowClass?.(row), below && "opened"].filter(Boolean).join(" ")}>
        {columns.map((column) => (
          <Cell key={column.name} column={column} row={row} />
        ))}
      </tr>
      {below && (
        <tr class="below">
          <td colSpan={columns.length}>{below}</td>
        </tr>
      )}
    </>
  );
}

function Head<Row>({
  column,
  sorted,
  sort,
}: {
  column: Column<Row>;
  sorted: string;
  sort: (column: Column<Row>) => void;
}) {
  const up = sorted === column.name;
  const order = up ? "ascending" : sorted === `-${column.name}` ? "descending" : undefined;
  return (
    <th scope="col" class={look(column)} aria-sort={order}>
      {column.by ? (
        <button type="button" class="plain" onClick={() => sort(column)}>
          {column.head}
          <span class="table-order" aria-hidden="true">
            {order ? (up ? "↑" : "↓") : ""}
          </span>
        </button>
      ) : (
        column.head
      )}
      {column.under}
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const inside = column.cell(row);
  if (column.heads)
    return (
      <th scope="row" class={look(column)}>
        {inside}
      </th>
    );
  return (
    <td class={look(column)} data-head={column.head || undefined}>
      {inside}
    </td>
  );
}

function look<Row>(column: Column<Row>): string {
  return (["number", "wide", "tick"] as const).filter((name) => column[name]).join(" ");
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
