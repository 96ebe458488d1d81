// A table whose columns sort by a click or Enter on their heads; the head stays while the page scrolls below it.
//   <Table caption="Runs" columns={[{ name: "at", head: "Started", cell: (r) => ..., by: (r) => r.at, number: true }]}
//          rows={rows} keyOf={(r) => r.id} sorted="-at" cards />
// `by` makes a column sortable (null sorts last). `sorted` names the first order, "-" for the largest first.
// With `onSort` the order is the caller's (to keep it in the address): `sorted` says it; with `inOrder` the rows are in it
// already, as a server that has only a page of them sent them. With `few` only so many rows are
// shown until a button is pressed. With `more` a row has more below it: its first cell holds an <Opener>, and `more` gives
// what is below, or null while it is closed. On a phone the table scrolls, or with `cards` each row becomes a card, ten of
// them until all are asked for.
// Of a long table only the rows near the screen are drawn. With `next` there are more rows elsewhere, `total` in all: it is
// called when the end comes near.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Blocks, LONG } from "./blocks";
import { useNarrow } from "./fold";
import { whole } from "./format";
import { useScrollStop } from "./scrolling";
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
  /** The rows come in their order: who sent them sorted them. */
  inOrder?: boolean;
  few?: number;
  more?: (row: Row) => ComponentChildren;
  cards?: boolean;
  /** May be wider than the page. */
  scrolls?: boolean;
  rowClass?: (row: Row) => string;
  /** Asks for more rows. */
  next?: (() => void) | undefined;
  /** Rows there are in all, those that have not come yet among them. */
  total?: number;
}

export const CARDS = 10; // on a phone, until all are asked for

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, few = Infinity, onSort } = props;
  const [own, setOwn] = useState(props.sorted ?? "");
  const room = useRef<HTMLDivElement>(null);
  const most = useNarrow() && props.cards ? Math.min(few, CARDS) : few; // cards are tall, and a phone is not
  const [all, setAll] = useState(false);
  const sorted = onSort ? (props.sorted ?? "") : own;
  const sort = ({ name, largestFirst }: Column<Row>) => {
    const [first, second] = largestFirst ? [`-${name}`, name] : [name, `-${name}`];
    (onSort ?? setOwn)(sorted === first ? second : first);
  };
  const inOrder = props.inOrder ? rows : ordered(rows, columns, sorted);
  const shown = all ? inOrder : inOrder.slice(0, most);
  const next = all || rows.length <= most ? props.next : undefined;
  const isLong = shown.length > LONG || next !== undefined;
  const draw = (place: number) => {
    const row = shown[place]!;
    return <Lines key={props.keyOf(row)} row={row} table={props} {...(isLong ? { place: place + 2 } : {})} />;
  };
  return (
    <>
      <div
        ref={room}
        class={`table-room ${props.cards ? "has-cards" : ""} ${props.scrolls ? "scrolls" : ""}`}
        {...useScrollStop(room)}
      >
        <table class="table" aria-rowcount={isLong ? (props.total ?? shown.length) + 1 : undefined}>
          <caption class="aside">{caption}</caption>
          <thead>
            <tr aria-rowindex={isLong ? 1 : undefined}>
              {columns.map((column) => (
                <Head key={column.name} column={column} sorted={sorted} sort={sort} />
              ))}
            </tr>
          </thead>
          {isLong ? (
            <Blocks count={shown.length} columns={columns.length} draw={draw} />
          ) : (
            <tbody>{shown.map((_, place) => draw(place))}</tbody>
          )}
        </table>
      </div>
      {next && <Next next={next} shown={rows.length} total={props.total} />}
      {rows.length > most && (
        <button type="button" class="table-all" onClick={() => setAll(!all)}>
          {all ? `Show first ${most}` : `Show all ${whole(props.total ?? rows.length)}`}
        </button>
      )}
    </>
  );
}

/** Asks for more when it comes near the screen, or is pressed. */
function Next({ next, shown, total }: { next: () => void; shown: number; total: number | undefined }) {
  const place = useRef<HTMLParagraphElement>(null);
  const latest = useRef(next);
  latest.current = next;
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => seen.at(-1)!.isIntersecting && latest.current(), {
      rootMargin: "1000px 0px",
    });
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, [shown]);
  return (
    <p ref={place} class="row table-all">
      <button type="button" onClick={next}>
        Show more
      </button>
      <span class="soft small" role="status">
        {total === undefined ? `${whole(shown)} shown` : `${whole(shown)} of ${whole(total)} shown`}
      </span>
    </p>
  );
}

/** A row, and below it what it opens to. */
function Lines<Row>({
  row,
  table: { columns, more, rowClass },
  place,
}: {
  row: Row;
  table: TableProps<Row>;
  place?: number;
}) {
  const below = more?.(row);
  return (
    <>
      <tr class={[rowClass?.(row), below && "opened"].filter(Boolean).join(" ")} aria-rowindex={place}>
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
