// One cause: the commit, what its findings are in all, and each of them, the largest change first; dealt with as one, or
// split where some of them have another cause.

import { useState } from "preact/hooks";
import { get, useAsked, type Query } from "../../api";
import { may, useAbout } from "../../parts/about";
import { DriftBadge, Effect, StateBadge, VerdictBadge } from "../../parts/badges";
import { CauseEffect, causeName, CauseSize, Commit } from "../../parts/cause";
import { RangeLink } from "../../parts/codelinks";
import { Command } from "../../parts/copy";
import { changeUnit, count, date, paramsText } from "../../parts/format";
import { ChangeSpark } from "../../parts/spark";
import { Answered } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { change, open } from "../../route";
import type { CauseLine, CauseView, FindingLine } from "../../shapes";
import { Bulk, type Other } from "./bulk";
import { findingLabel } from "./cells";
import { linkTo } from "./chosen";
import { Desk } from "./desk";
import { AtForge } from "./forge";
import { MayNot } from "./maynot";
import { Neighbours } from "./neighbours";
import { follow, meantOf, useCurrent } from "./rows";
import { Story } from "./story";
import { split, triageAll } from "./triage";

const FEW = 20; // findings, until a button is pressed
const MOST = 1000; // findings that the page holds

export function CausePage({ id, query }: { id: string; query: Query }) {
  const [again, setAgain] = useState(0);
  const answer = useAsked(`cause ${id}`, () => whole(id), again);
  return (
    <div class="stack findings">
      <Neighbours cause={answer.data?.line.id ?? id} query={query} />
      <Answered answer={answer}>
        {(view) => <Shown key={view.line.id} view={view} query={query} reload={() => setAgain((n) => n + 1)} />}
      </Answered>
    </div>
  );
}

/** The cause with its findings, as many as a page holds. */
async function whole(id: string): Promise<CauseView> {
  const path = `causes/${encodeURIComponent(id)}`;
  const view = await get<CauseView>(path);
  let { next } = view;
  const findings = [...view.findings];
  while (next && findings.length < MOST) {
    const page = await get<CauseView>(path, { limit: "500", after: next });
    findings.push(...page.findings);
    next = page.next;
  }
  return { ...view, findings, next };
}

function Shown({ view, query, reload }: { view: CauseView; query: Query; reload: () => void }) {
  const allowed = may(useAbout(), "triage");
  const { line } = view;
  useTitle(`${causeName(line)}: ${count(line.series, "series", "series")}`);
  const wish = async (what: Parameters<typeof triageAll>[1]) => {
    const changed = await triageAll([line.id], what);
    reload();
    return changed.length;
  };
  return (
    <>
      <Head cause={line} />
      <div class="finding-columns">
        <div class="stack">
          <Members view={view} query={query} allowed={allowed} reload={reload} />
        </div>
        <div class="stack finding-side">
          {allowed ? (
            <Desk state={line.state} assignee={line.assignees.join(", ")} findings={line.findings} wish={wish} />
          ) : (
            <MayNot />
          )}
          <AtForge of={`causes/${encodeURIComponent(line.id)}`} repository={line.lead.repository} onSent={reload} />
          <Story remarks={view.remarks} />
          <section class="section panel" aria-labelledby="next">
            <h2 id="next">Next steps</h2>
            <ul class="finding-next">
              {view.commands.map((command) => (
                <li key={command}>
                  <Command text={command} />
                </li>
              ))}
            </ul>
          </section>
        </div>
      </div>
    </>
  );
}

function Head({ cause }: { cause: CauseLine }) {
  const machines = Object.values(cause.machines);
  return (
    <header class="finding-head">
      <div class="row">
        <VerdictBadge verdict={cause.lead.verdict} />
        {cause.lead.drift && <DriftBadge />}
        <StateBadge state={cause.state} />
        {Object.keys(cause.states).length > 1 && (
          <span class="soft">
            {Object.entries(cause.states)
              .map(([state, of]) => `${of} ${state}`)
              .join(", ")}
          </span>
        )}
        {cause.assignees.length > 0 && <span class="soft">assigned to {cause.assignees.join(", ")}</span>}
      </div>
      <h1>{causeName(cause)}</h1>
      {cause.culprit && (
        <p class="cause-commit">
          <Commit suspect={cause.culprit} repository={cause.lead.repository} short /> <Between cause={cause} />
        </p>
      )}
      <p class="finding-sentence">
        <CauseSize cause={cause} />: <CauseEffect cause={cause} />
      </p>
      <p class="soft small">
        {machines.length > 3 ? count(machines.length, "machine") : machines.join(" · ")} · found{" "}
        <When at={cause.found_at} />
        {date(cause.newest_at) !== date(cause.found_at) && (
          <>
            , last joined <When at={cause.newest_at} />
          </>
        )}
      </p>
    </header>
  );
}

/** The commits that it came with, where it is one of several. */
function Between({ cause: { lead } }: { cause: CauseLine }) {
  const [base, head] = [lead.revisions[0], lead.revisions.at(-1)];
  return base && head && base !== head ? (
    <span class="soft small">
      <RangeLink base={base} head={head} repository={lead.repository} />
    </span>
  ) : null;
}

function Members({
  view,
  query,
  allowed,
  reload,
}: {
  view: CauseView;
  query: Query;
  allowed: boolean;
  reload: () => void;
}) {
  const rows = view.findings;
  const [current, setCurrent] = useCurrent(rows);
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const toggle = (id: string) => setTicked(ticked.includes(id) ? ticked.filter((one) => one !== id) : [...ticked, id]);
  const apart: Other = {
    name: "Split",
    key: "s",
    least: 1,
    means: "Give the selected findings a cause of their own",
    run: async (meant, comment) => {
      const made = await split(meant, comment);
      if (made.line.findings > 1) open(linkTo(made.line.id, query));
      return `${count(made.line.findings, "finding")} split from this cause.`;
    },
  };
  return (
    <section class="section panel" aria-labelledby="members">
      <div class="row">
        <h2 id="members">Series</h2>
        <span class="soft">
          {view.next
            ? `the largest ${count(rows.length, "change")} of ${count(view.line.findings, "finding")}`
            : count(rows.length, "finding")}
          , the largest change first
        </span>
      </div>
      {allowed && ticked.length > 0 && (
        <Bulk
          meant={meantOf(rows, ticked, current)}
          findings={ticked.length}
          noun="finding"
          ticked={ticked.length}
          others={[apart]}
          chooseAll={() => setTicked([])}
          done={() => {
            setTicked([]);
            reload();
          }}
        />
      )}
      <div onFocusIn={(event) => follow(event, setCurrent)}>
        <Table
          caption="Series of this cause"
          columns={columns(query, allowed, ticked, toggle)}
          rows={rows}
          keyOf={(one) => one.id}
          sorted={query["order"] ?? ""}
          onSort={(order) => change({ order }, true)}
          rowClass={(one) => (one.id === current ? "finding-row current" : "finding-row")}
          few={FEW}
          cards
        />
      </div>
    </section>
  );
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
      aria-label={`Select ${findingLabel(one)}`}
    />
  );
  return [
    ...(allowed ? [{ name: "tick", head: "Select", tick: true, cell: tick }] : []),
    {
      name: "case",
      head: "Case",
      heads: true,
      wide: true,
      by: (one) => `${one.case} ${paramsText(one.params)}`,
      cell: (one) => (
        <span class="finding-what">
          <a href={linkTo(one.id, query)} data-finding={one.id}>
            {one.case}
          </a>
          <span class="soft small">
            {one.metric} {paramsText(one.params)}
          </span>
        </span>
      ),
    },
    {
      name: "effect",
      head: "Change",
      by: (one) => Math.abs(Math.log(one.effect.point || 1)),
      largestFirst: true,
      cell: (one) => <Effect effect={one.effect} unit={changeUnit(one)} verdict={one.verdict} interval />,
    },
    {
      name: "spark",
      head: "Around the change",
      cell: (one) => <ChangeSpark of={one} />,
    },
    {
      name: "machine",
      head: "Machine",
      by: (one) => one.machine_name,
      cell: (one) => <span class="soft">{one.machine_name}</span>,
    },
    { name: "state", head: "State", by: (one) => one.state, cell: (one) => <StateBadge state={one.state} /> },
  ];
}
