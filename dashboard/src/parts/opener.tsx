// A button in a row of a table that shows more below it: <Opener open={open} onToggle={toggle}>words</Opener>
//   const { isOpen, toggle } = openRows(query.open)   which rows are open is in the address

import type { ComponentChildren } from "preact";
import { change } from "../route";
import "./opener.css";

interface OpenerProps {
  open: boolean;
  onToggle: () => void;
  children: ComponentChildren;
}

export function Opener({ open, onToggle, children }: OpenerProps) {
  return (
    <button type="button" class="plain opener" aria-expanded={open} onClick={onToggle}>
      <span class="opener-sign" aria-hidden="true" />
      <span>{children}</span>
    </button>
  );
}

export function openRows(open = ""): { isOpen: (key: string) => boolean; toggle: (key: string) => void } {
  const keys = new Set(open.split("|").filter(Boolean));
  const toggle = (key: string) => {
    if (!keys.delete(key)) keys.add(key);
    change({ open: [...keys].join("|") }, true);
  };
  return { isOpen: (key) => keys.has(key), toggle };
}
