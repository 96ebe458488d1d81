// The pages that people keep under a name: #/views. Each opens as it was saved; one of them is the team's home page.

import { useState } from "preact/hooks";
import { send, useData, useLast } from "../api";
import { may, useAbout } from "../parts/about";
import { Answered, Empty, Problem } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { When } from "../parts/when";
import { change } from "../route";
import type { PageProps } from "../shell";
import type { ViewLine, ViewsPage as Views } from "../shapes";
import "./views.css";

export function ViewsPage({ route, refresh }: PageProps) {
  const [again, setAgain] = useState(0);
  const [error, setError] = useState("");
  const about = useAbout();
  const answer = useLast(useData<Views>("views", {}, again));
  const act = async (work: Promise<unknown>) => {
    try {
      await work;
      setError("");
    } catch (problem) {
      setError((problem as Error).message);
    }
    setAgain((before) => before + 1);
    refresh();
  };
  return (
    <div class="stack">
      <h1>Views</h1>
      {error && <Problem error={error} />}
      <Answered answer={answer}>
        {({ views }) =>
          views.length ? (
            <Table
              caption="Views"
              columns={may(about, "triage") ? [...COLUMNS, actions(act, may(about, "write"))] : COLUMNS}
              rows={views}
              keyOf={(view) => String(view.id)}
              sorted={route.query["sort"] || "name"}
              onSort={(sort) => change({ sort }, true)}
              cards
            />
          ) : (
            <Empty title="No views yet.">
              <p>
                A view is a page with everything that is chosen on it. The star in the bar on top saves the present one
                under a name.
              </p>
            </Empty>
          )
        }
      </Answered>
    </div>
  );
}

const COLUMNS: Column<ViewLine>[] = [
  { name: "name", head: "View", heads: true, by: (view) => view.name, cell: (view) => <Name view={view} /> },
  {
    name: "address",
    head: "Page",
    wide: true,
    by: (view) => view.address,
    cell: (view) => <code class="view-address">{view.address}</code>,
  },
  { name: "who", head: "Saved by", by: (view) => view.who, cell: (view) => view.who },
  { name: "made", head: "Saved", by: (view) => view.made_at, cell: (view) => <When at={view.made_at} /> },
];

function Name({ view }: { view: ViewLine }) {
  return (
    <span class="row">
      <a href={`#/${view.address}`}>{view.name}</a>
      {view.is_home && <span class="badge">home page</span>}
    </span>
  );
}

function actions(act: (work: Promise<unknown>) => Promise<void>, mayWrite: boolean): Column<ViewLine> {
  const patch = (view: ViewLine, body: object) => act(send("PATCH", `views/${view.id}`, body));
  return {
    name: "actions",
    head: "",
    cell: (view) => (
      <span class="row view-actions">
        {mayWrite && (
          <button type="button" onClick={() => void patch(view, { is_home: !view.is_home })}>
            {view.is_home ? "Unset home page" : "Set as home page"}
          </button>
        )}
        <Rename view={view} keep={(name) => patch(view, { name })} />
        <button
          type="button"
          aria-label={`Remove ${view.name}`}
          onClick={() => confirm(`Remove the view ${view.name}?`) && void act(send("DELETE", `views/${view.id}`))}
        >
          Remove
        </button>
      </span>
    ),
  };
}

function Rename({ view, keep }: { view: ViewLine; keep: (name: string) => Promise<void> }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null)
    return (
      <button type="button" aria-label={`Rename ${view.name}`} onClick={() => setName(view.name)}>
        Rename
      </button>
    );
  const submit = (event: Event) => {
    event.preventDefault();
    void keep(name.trim()).then(() => setName(null));
  };
  return (
    <form class="row" onSubmit={submit}>
      <input
        aria-label={`New name of ${view.name}`}
        value={name}
        required
        maxLength={100}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && setName(null)}
      />
      <button type="submit">Keep</button>
    </form>
  );
}
