// What stands before and after a finding or a cause in the list one came from. It stays as it was when it was opened.

import type { Query } from "../../api";
import { CopyLink } from "../../parts/copy";
import { useKeys } from "../../parts/keys";
import { href, open } from "../../route";
import { isEach, linkTo, listQuery, useEntries, type Entry } from "./chosen";

interface NeighboursProps {
  finding?: string;
  cause: string;
  /** Whether the finding is one of several that have the cause. */
  several?: boolean;
  query: Query;
}

export function Neighbours({ finding = "", cause, several = false, query }: NeighboursProps) {
  const each = isEach(query);
  const rows = useEntries(query);
  const place = rows.findIndex((one) => one.id === (each ? finding : cause));
  const [before, after] = [rows[place - 1], place < 0 ? undefined : rows[place + 1]];
  const go = (there: Entry | undefined) => there && open(linkTo(there.entry, query));
  const list = href("findings", [], listQuery(query));
  const up = several && !each ? linkTo(cause, query) : list;
  const noun = each ? "finding" : "cause";
  useKeys([
    { keys: "j", does: `Next ${noun}`, run: () => go(after) },
    { keys: "k", does: `Previous ${noun}`, run: () => go(before) },
    { keys: "u", does: up === list ? "Back to the list" : "Back to the cause", run: () => open(up) },
  ]);
  return (
    <nav class="row finding-neighbours" aria-label="Findings">
      <a href={list}>All findings</a>
      {up !== list && <a href={up}>Its cause</a>}
      {place >= 0 && (
        <span class="soft">
          {place + 1} of {rows.length}
        </span>
      )}
      <span class="row push">
        {before ? (
          <a rel="prev" href={linkTo(before.entry, query)}>
            Previous
          </a>
        ) : (
          <span class="soft">Previous</span>
        )}
        {after ? (
          <a rel="next" href={linkTo(after.entry, query)}>
            Next
          </a>
        ) : (
          <span class="soft">Next</span>
        )}
        <CopyLink />
      </span>
    </nav>
  );
}
