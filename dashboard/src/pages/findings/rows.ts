// Which row of a list the keys mean: the one whose link was reached last. Its link carries `data-finding`.

import { useEffect, useState } from "preact/hooks";

interface Row {
  readonly id: string;
}

/** The row that keys mean: the one that was reached last; the one after it once it is gone. */
export function useCurrent(rows: readonly Row[]): [string, (id: string) => void] {
  const [current, setCurrent] = useState({ id: "", place: 0 });
  const place = rows.findIndex((one) => one.id === current.id);
  const next = place < 0 && current.id ? rows[Math.min(current.place, rows.length - 1)] : undefined;
  useEffect(() => {
    if (!next) return;
    setCurrent({ id: next.id, place: rows.indexOf(next) });
    focusRow(next);
  }, [next?.id]);
  return [place < 0 ? "" : current.id, (id) => setCurrent({ id, place: rows.findIndex((one) => one.id === id) })];
}

export function follow(event: FocusEvent, setCurrent: (id: string) => void): void {
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const id = row?.querySelector<HTMLElement>("[data-finding]")?.dataset["finding"];
  if (id) setCurrent(id);
}

export function focusRow(row: Row | undefined): void {
  if (row) document.querySelector<HTMLElement>(`[data-finding="${CSS.escape(row.id)}"]`)?.focus();
}

/** Moves the focus to the row so many further. */
export function step(rows: readonly Row[], current: string, by: number): void {
  focusRow(rows[Math.min(Math.max(rows.findIndex((one) => one.id === current) + by, 0), rows.length - 1)]);
}

/** The rows that an action is for: those that are ticked, or else the one that the keys mean. */
export function meantOf(rows: readonly Row[], ticked: readonly string[], current: string): string[] {
  const wanted = ticked.length ? ticked : [current];
  return rows.map((one) => one.id).filter((id) => wanted.includes(id));
}
