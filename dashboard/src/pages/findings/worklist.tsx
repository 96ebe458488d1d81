// The list to work through: narrowed, ordered, one row or several at a time, with the keyboard alone if one likes. Its rows
// are findings or causes.

import { useState } from "preact/hooks";
import type { Query } from "../../api";
import { may, useAbout } from "../../parts/about";
import { CopyLink } from "../../parts/copy";
import { count } from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { change } from "../../route";
import { Bulk, type Other } from "./bulk";
import { onlyOf, useList, type Found, type Kind } from "./chosen";
import { Filters } from "./filters";
import { MayNot } from "./maynot";
import { follow, meantOf, step, useCurrent } from "./rows";

const FEW = 100;

interface WorklistProps<Row> {
  kind: Kind<Row>;
  query: Query;
  columns: Column<Row>[];
  /** What a row is called where it is selected. */
  label: (one: Row) => string;
  others?: readonly Other[];
}

export function Worklist<Row extends { id: string }>(props: WorklistProps<Row>) {
  const [again, setAgain] = useState(0);
  const answer = useList(props.kind, props.query, again);
  return (
    <div class="stack findings">
      <div class="row">
        <h1>Findings</h1>
        <span class="push">
          <CopyLink />
        </span>
      </div>
      <Answered answer={answer}>
        {(found) => <Listed {...props} found={found} reload={() => setAgain((n) => n + 1)} />}
      </Answered>
    </div>
  );
}

function Listed<Row extends { id: string }>({
  kind,
  query,
  columns,
  label,
  others = [],
  found,
  reload,
}: WorklistProps<Row> & { found: Found<Row>; reload: () => void }) {
  const allowed = may(useAbout(), "triage");
  const { rows } = found;
  const { noun } = kind;
  const [current, setCurrent] = useCurrent(rows);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const toggle = (id: string) => setTicked(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);
  useKeys([
    { keys: "j", does: `Next ${noun}`, run: () => step(rows, current, 1) },
    { keys: "k", does: `Previous ${noun}`, run: () => step(rows, current, -1) },
    ...(allowed ? [{ keys: "x", does: `Select the ${noun}`, run: () => current && toggle(current) }] : []),
  ]);
  const tick: Column<Row> = {
    name: "tick",
    head: "Select",
    tick: true,
    cell: (one) => (
      <input
        type="checkbox"
        checked={ticked.includes(one.id)}
        onChange={() => toggle(one.id)}
        aria-label={`Select ${label(one)}`}
      />
    ),
  };
  const meant = meantOf(rows, ticked, current);
  return (
    <>
      <Filters facets={found.facets} counts={found.counts} shown={shownOf(kind, found)} query={query} />
      {allowed ? (
        <Bulk
          meant={meant}
          findings={rows.filter((one) => meant.includes(one.id)).reduce((sum, one) => sum + kind.findings(one), 0)}
          only={onlyOf(query)}
          noun={noun}
          ticked={ticked.length}
          others={others}
          chooseAll={() => setTicked(ticked.length === rows.length ? [] : rows.map((one) => one.id))}
          done={() => {
            setTicked([]);
            reload();
          }}
        />
      ) : (
        <MayNot />
      )}
      {rows.length ? (
        <div onFocusIn={(event) => follow(event, setCurrent)}>
          <Table
            caption={noun === "cause" ? "Causes" : "Findings"}
            columns={allowed ? [tick, ...columns] : columns}
            rows={rows}
            keyOf={(one) => one.id}
            sorted={query["sort"] || "-found"}
            onSort={(sort) => change({ sort }, true)}
            rowClass={(one) => (one.id === current ? "finding-row current" : "finding-row")}
            few={FEW}
            cards
          />
        </div>
      ) : (
        <Nothing found={found} />
      )}
    </>
  );
}

function shownOf<Row>({ noun }: Kind<Row>, { rows, total, findings }: Found<Row>): string {
  const all = noun === "cause" ? `${count(total, "cause")}, ${count(findings, "finding")}` : count(total, "finding");
  return total > rows.length ? `${rows.length.toLocaleString("en-US")} of ${all}, oldest omitted` : all;
}

function Nothing<Row>({ found }: { found: Found<Row> }) {
  const none = Object.values(found.counts).every((of) => !of);
  return (
    <Empty title={none ? "No findings yet." : "No matching findings."}>
      <p>
        {none
          ? "Changes are found after about a dozen runs of the same case on one machine."
          : "Remove a filter, or select other states."}
      </p>
    </Empty>
  );
}
