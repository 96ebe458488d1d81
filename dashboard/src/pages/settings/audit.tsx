// Who changed what, from what to what: narrowed by words, person and action, page by page. All of it is in the address.

import { useData, useLast } from "../../api";
import { Entered, Words } from "../../parts/filters";
import { date } from "../../parts/format";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { href, type Route } from "../../route";
import type { AuditLine, AuditPage } from "../../shapes";

export function AuditLog({ route: { query } }: { route: Route }) {
  const { words, who, action, before } = query;
  const answer = useLast(useData<AuditPage>("audit", { words, who, action, before, limit: "100" }));
  return (
    <>
      <form class="row filters" role="search" aria-label="Filter lines" onSubmit={(event) => event.preventDefault()}>
        <Words given={words} placeholder="in any part of a line" />
        <Entered label="Who" name="who" query={query} />
        <Entered label="What was done" name="action" query={query} />
      </form>
      <Answered answer={answer}>
        {(page) =>
          page.lines.length ? (
            <section class="section" aria-label="Audit log">
              <Table
                caption="Audit log, the newest first"
                columns={COLUMNS}
                rows={page.lines}
                keyOf={(line) => String(line.id)}
                cards
              />
              <nav class="row" aria-label="Lines before and after">
                {before && <a href={href("settings", ["audit"], { ...query, before: undefined })}>Newest</a>}
                {page.next && <a href={href("settings", ["audit"], { ...query, before: page.next })}>Older</a>}
              </nav>
            </section>
          ) : (
            <Empty title={words || who || action ? "No matching entries." : "No entries yet."} />
          )
        }
      </Answered>
    </>
  );
}

const COLUMNS: Column<AuditLine>[] = [
  { name: "at", head: "When", cell: (line) => <time>{date(line.at)}</time> },
  {
    name: "who",
    head: "Who",
    heads: true,
    cell: (line) => <span title={line.address}>{line.who || line.address || "the server"}</span>,
  },
  { name: "action", head: "What was done", cell: (line) => line.action },
  { name: "what", head: "To what", wide: true, cell: (line) => <span class="settings-what">{line.what}</span> },
];
