// Who is signed in with a browser. An admin ends sessions; who may sign in is for the provider and the server's file.

import { send, useData, useLast } from "../../api";
import { date } from "../../parts/format";
import { Answered, Empty, Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { When } from "../../parts/when";
import type { PeoplePage, PersonLine } from "../../shapes";
import { useActions } from "./actions";

export function People() {
  const actions = useActions();
  const answer = useLast(useData<PeoplePage>("people", {}, actions.again));
  const buttons: Column<PersonLine> = {
    name: "actions",
    head: "Actions",
    cell: (line) =>
      line.is_you ? (
        <span class="soft">this browser</span>
      ) : (
        <button
          type="button"
          aria-label={`End the session of ${line.who}`}
          onClick={() =>
            confirm(`End the session of ${line.who}?`) && void actions.act(() => send("DELETE", `people/${line.name}`))
          }
        >
          End the session
        </button>
      ),
  };
  return (
    <>
      {actions.error && <Problem error={actions.error} />}
      <Answered answer={answer}>
        {(page) => (
          <>
            {page.sign_in && (
              <p class="soft">
                People sign in at <code>{page.sign_in}</code>. Their groups there, and <code>[server.sign_in]</code> of
                the server's file, say what they may do.
              </p>
            )}
            {page.people.length ? (
              <Table
                caption="People who are signed in"
                columns={[...COLUMNS, buttons]}
                rows={page.people}
                keyOf={(line) => line.name}
                sorted="-seen"
                cards
              />
            ) : page.sign_in ? (
              <Empty title="Nobody is signed in." />
            ) : (
              <Empty title="Nobody can sign in here: the server has no provider.">
                <p>
                  <code>[server.sign_in]</code> in <code>benchwright.toml</code> names one. Tokens work without.
                </p>
              </Empty>
            )}
          </>
        )}
      </Answered>
    </>
  );
}

const COLUMNS: Column<PersonLine>[] = [
  { name: "who", head: "Person", heads: true, by: (line) => line.who, cell: (line) => line.who },
  { name: "role", head: "Role", by: (line) => line.role, cell: (line) => line.role || "none" },
  { name: "groups", head: "Groups", wide: true, cell: (line) => line.groups.join(", ") },
  { name: "made", head: "Signed in", by: (line) => line.made_at, cell: (line) => <When at={line.made_at} /> },
  { name: "seen", head: "Last seen", by: (line) => line.seen_at, cell: (line) => <When at={line.seen_at} /> },
  { name: "ends", head: "Ends", by: (line) => line.ends_at, cell: (line) => date(line.ends_at) },
];
