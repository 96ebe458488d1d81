// A row of a table that opens to show more below it.
// The table has the class "folds": on a phone its rows become lines, and cells show their data-head.
//   <Opener open={open} onToggle={toggle}>words</Opener> in a cell of the row; then, when open, <More columns={7}>...</More>

import type { ComponentChildren } from "preact";
import "./opener.css";

export function Opener({
  open,
  onToggle,
  children,
}: {
  open: boolean;
  onToggle: () => void;
  children: ComponentChildren;
}) {
  return (
    <button type="button" class="plain opener" aria-expanded={open} onClick={onToggle}>
      <span class="opener-sign" aria-hidden="true" />
      <span>{children}</span>
    </button>
  );
}

export function More({ columns, children }: { columns: number; children: ComponentChildren }) {
  return (
    <tr class="more">
      <td colSpan={columns}>{children}</td>
    </tr>
  );
}
