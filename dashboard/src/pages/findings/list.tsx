// The list to work through: narrowed, ordered, one finding or several at a time, with the keyboard alone if one likes.

import { useEffect, useState } from "preact/hooks";
import type { Query } from "../../api";
import { may, useAbout } from "../../parts/about";
import { DriftBadge, Effect, StateBadge, VerdictBadge } from "../../parts/badges";
import { CopyLink } from "../../parts/copy";
import { ago, count, date, paramsText, probability, revisionShort } from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Spark } from "../../parts/spark";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { change } from "../../route";
import type { FindingLine } from "../../shapes";
import { Bulk } from "./bulk";
import { chosen, linkTo, ORDERS, statesOf, useFindings, type Found } from "./chosen";
import { Filters } from "./filters";
import { MayNot } from "./maynot";

export function FindingList({ query }: { query: Query }) {
  const [again, setAgain] = useState(0);
  const answer = useFindings(statesOf(query), again);
  return (
    <div class="stack findings">
      <div class="row">
        <h1>Findings</h1>
        <span class="push">
          <CopyLink />
        </span>
      </div>
      <Answered answer={answer}>
        {(found) => <Listed found={found} query={query} reload={() => setAgain((n) => n + 1)} />}
      </Answered>
    </div>
  );
}

function Listed({ found, query, reload }: { found: Found; query: Query; reload: () => void }) {
  const allowed = may(useAbout(), "triage");
  const rows = chosen(found.findings, query);
  const [current, setCurrent] = useCurrent(rows);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const meant = ticked.length
    ? rows.filter((one) => ticked.includes(one.id))
    : rows.filter((one) => one.id === current);
  const toggle = (id: string) => setTicked(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);
  const step = (by: number) =>
    focusRow(rows[Math.min(Math.max(rows.findIndex((one) => one.id === current) + by, 0), rows.length - 1)]);
  useKeys([
    { keys: "j", does: "Next finding", run: () => step(1) },
    { keys: "k", does: "Previous finding", run: () => step(-1) },
    ...(allowed ? [{ keys: "x", does: "Choose the finding", run: () => current && toggle(current) }] : []),
  ]);
  return (
    <>
      <Filters found={found} shown={rows.length} query={query} />
      {allowed ? (
        <Bulk
          meant={meant}
          ticked={ticked.length}
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
            caption="Findings"
            columns={columns(query, allowed, ticked, toggle)}
            rows={rows}
            keyOf={(one) => one.id}
            sorted={query["sort"] || "-found"}
            onSort={(sort) => change({ sort }, true)}
            rowClass={(one) => (one.id === current ? "finding-row current" : "finding-row")}
            cards
          />
        </div>
      ) : (
        <Nothing found={found} />
      )}
    </>
  );
}

/** The finding that keys mean: the one whose row was reached last; the one after it once it is gone. */
function useCurrent(rows: readonly FindingLine[]): [string, (id: string) => void] {
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

function follow(event: FocusEvent, setCurrent: (id: string) => void): void {
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  const id = row?.querySelector<HTMLElement>("[data-finding]")?.dataset["finding"];
  if (id) setCurrent(id);
}

function focusRow(finding: FindingLine | undefined): void {
  if (finding) document.querySelector<HTMLElement>(`[data-finding="${CSS.escape(finding.id)}"]`)?.focus();
}

function columns(
  query: Query,
  allowed: boolean,
  ticked: readonly string[],
  toggle: (id: string) => void,
): Column<FindingLine>[] {
  const tick = (one: FindingLine) => (
    <input
      type="checkbox"
      checked={ticked.includes(one.id)}
      onChange={() => toggle(one.id)}
      aria-label={`Choose ${one.case} ${one.metric} on ${one.machine_name}`}
    />
  );
  const spark = (one: FindingLine) => (
    <Spark
      values={one.spark}
      base={one.before.point}
      verdict={one.verdict}
      label={`${count(one.spark.length, "value")} around the change; dotted: as it was before`}
    />
  );
  return [
    ...(allowed ? [{ name: "tick", head: "Choose", tick: true, cell: tick }] : []),
    { name: "case", head: "What", heads: true, by: ORDERS["case"]!, cell: (one) => <What one={one} query={query} /> },
    {
      name: "effect",
      head: "Change",
      by: ORDERS["effect"]!,
      cell: (one) => <Effect effect={one.effect} unit={one.unit} verdict={one.verdict} interval />,
    },
    { name: "spark", head: "Around it", cell: spark },
    { name: "culprit", head: "Culprit", cell: (one) => <Culprit one={one} /> },
    {
      name: "machine",
      head: "Machine",
      by: ORDERS["machine"]!,
      cell: (one) => <span class="soft">{one.machine_name}</span>,
    },
    {
      name: "found",
      head: "Found",
      by: ORDERS["found"]!,
      cell: (one) => (
        <span class="nowrap" title={date(one.found_at)}>
          {ago(one.found_at)}
        </span>
      ),
    },
    { name: "state", head: "State", by: ORDERS["state"]!, cell: (one) => <StateBadge state={one.state} /> },
    { name: "assignee", head: "Who", by: ORDERS["assignee"]!, cell: (one) => one.assignee || null },
  ];
}

function What({ one, query }: { one: FindingLine; query: Query }) {
  return (
    <span class="finding-what">
      <span class="row">
        <VerdictBadge verdict={one.verdict} />
        {one.drift && <DriftBadge />}
        <a href={linkTo(one.id, query)} data-finding={one.id}>
          {one.case}
        </a>
      </span>
      <span class="soft small">
        {one.metric} {paramsText(one.params)}
      </span>
    </span>
  );
}

function Culprit({ one: { culprit, drift } }: { one: FindingLine }) {
  if (drift) return <span class="soft small">no single commit</span>;
  if (!culprit) return null;
  return (
    <span class="finding-culprit small">
      {culprit.subject || "Commit"} <code>{revisionShort(culprit.revision)}</code>{" "}
      <span class="soft nowrap">{probability(culprit.probability)}</span>
    </span>
  );
}

function Nothing({ found }: { found: Found }) {
  const none = Object.values(found.counts).every((of) => !of);
  return (
    <Empty
      title={
        none ? "Nothing was found yet." : found.findings.length ? "No finding fits." : "No finding is in these states."
      }
    >
      <p>
        {none ? (
          <>
            A finding needs a dozen runs of the same case on a machine. <code>benchwright findings judge</code> looks
            for some.
          </>
        ) : (
          "Take away a word or a filter, or choose other states."
        )}
      </p>
    </Empty>
  );
}
