// A list that a server gives page by page: <Table rows={pages.flatMap((page) => page.series)} next={more} ... />

import { useEffect, useRef, useState } from "preact/hooks";
import { address, get, type Query } from "../api";

export interface Pages<Page> {
  /** Those that have come so far; those of another question until the first new one is there. */
  pages: readonly Page[];
  error: string;
  /** Asks for the next page; after an error once more for the one that did not come. */
  more: (() => void) | undefined;
}

/** `first` is asked with the first page alone. */
export function usePages<Page extends { next: string }>(path: string, query: Query, first: Query = {}): Pages<Page> {
  const asked = address(path, query);
  const latest = useRef(asked);
  latest.current = asked;
  const coming = useRef("");
  const [state, setState] = useState<{ asked: string; pages: Page[]; error: string }>({
    asked: "",
    pages: [],
    error: "",
  });
  const load = (after: string, before: Page[]) => {
    const name = `${asked} ${after}`;
    if (coming.current === name) return;
    coming.current = name;
    const told = (pages: Page[], error: string) => {
      if (coming.current === name) coming.current = "";
      if (latest.current === asked) setState({ asked, pages, error });
    };
    get<Page>(path, { ...query, ...(after ? { after } : first) }).then(
      (page) => told([...before, page], ""),
      (error: Error) => told(before, error.message),
    );
  };
  useEffect(() => load("", []), [asked]);
  const next = state.pages.at(-1)?.next ?? "";
  const isMore = state.asked === asked && (next || state.error);
  return { pages: state.pages, error: state.error, more: isMore ? () => load(next, state.pages) : undefined };
}
