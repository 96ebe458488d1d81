// What the tab is called: useTitle("Run 20261001T080000000-0000ff"). The shell names the page until one of it is shown.

import { useEffect } from "preact/hooks";
import { straight } from "./direction";

/** Names what is shown while it is. */
export function useTitle(name: string): void {
  useEffect(() => entitle(name)); // each time it is drawn: the shell names the page whenever the address changes
}

export function entitle(name: string): void {
  document.title = `${straight(name)} · Benchwright`;
}
