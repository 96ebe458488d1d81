// The list to work through, a row for each cause: a bad commit that touched 300 series is one row, and dealt with as one.

import type { Query } from "../../api";
import { StateBadge, VerdictBadge } from "../../parts/badges";
import { CauseEffect, causeEntry, causeName, CauseSize } from "../../parts/cause";
import { ago, count, date } from "../../parts/format";
import { ChangeSpark } from "../../parts/spark";
import type { Column } from "../../parts/table";
import type { CauseLine } from "../../shapes";
import type { Other } from "./bulk";
import { CAUSES, linkTo } from "./chosen";
import { Culprit, What } from "./cells";
import { join } from "./triage";
import { Worklist } from "./worklist";

export function CauseList({ query }: { query: Query }) {
  return <Worklist kind={CAUSES} query={query} columns={columns(query)} label={labelOf} others={[JOIN]} />;
}

function labelOf(one: CauseLine): string {
  const { lead, findings, series } = one;
  const more = findings > 1 ? `, ${count(series, "series", "series")}` : ` ${lead.metric} on ${lead.machine_name}`;
  return `${causeName(one)}${more}`;
}

const JOIN: Other = {
  name: "Join",
  key: "m",
  least: 2,
  means: "Join the selected causes into one",
  run: async ([first = "", ...others], comment) => {
    const { line } = await join(first, others, comment);
    return `One cause of ${count(line.findings, "finding")}.`;
  },
};

function columns(query: Query): Column<CauseLine>[] {
  const orders = CAUSES.orders;
  return [
    {
      name: "case",
      head: "Cause",
      heads: true,
      by: orders["case"]!,
      cell: (one) =>
        one.findings > 1 ? <Several one={one} query={query} /> : <What one={one.lead} query={query} entry={one.id} />,
    },
    {
      name: "effect",
      head: "Change",
      by: orders["effect"]!,
      largestFirst: true,
      cell: (one) => <CauseEffect cause={one} interval />,
    },
    {
      name: "series",
      head: "Series",
      number: true,
      by: orders["series"]!,
      largestFirst: true,
      cell: (one) => one.series.toLocaleString("en-US"),
    },
    {
      name: "spark",
      head: "Around the change",
      cell: ({ lead }) => <ChangeSpark of={lead} />,
    },
    {
      name: "culprit",
      head: "Culprit",
      cell: (one) => <Culprit one={{ ...one.lead, culprit: one.culprit }} />,
    },
    { name: "machine", head: "Machine", by: orders["machine"]!, cell: (one) => <Machines one={one} /> },
    {
      name: "found",
      head: "Found",
      by: orders["found"]!,
      cell: (one) => (
        <span class="nowrap" title={date(one.newest_at)}>
          {ago(one.newest_at)}
        </span>
      ),
    },
    { name: "state", head: "State", by: orders["state"]!, cell: (one) => <StateBadge state={one.state} /> },
    {
      name: "assignee",
      head: "Assignee",
      by: orders["assignee"]!,
      cell: (one) => one.assignees.join(", ") || null,
    },
  ];
}

function Several({ one, query }: { one: CauseLine; query: Query }) {
  return (
    <span class="finding-what">
      <span class="row">
        <VerdictBadge verdict={one.lead.verdict} />
        <a href={linkTo(causeEntry(one), query)} data-finding={one.id}>
          {causeName(one)}
        </a>
      </span>
      <span class="soft small">
        <CauseSize cause={one} />
      </span>
    </span>
  );
}

function Machines({ one }: { one: CauseLine }) {
  const names = Object.values(one.machines);
  return (
    <span class="soft" title={names.length > 1 ? names.join("\n") : undefined}>
      {names.length > 1 ? count(names.length, "machine") : names[0]}
    </span>
  );
}
