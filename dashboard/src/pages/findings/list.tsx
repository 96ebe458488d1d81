// The list to work through, a row for each finding.

import type { Query } from "../../api";
import { Effect, StateBadge } from "../../parts/badges";
import { ago, changeUnit, date } from "../../parts/format";
import { ChangeSpark } from "../../parts/spark";
import type { Column } from "../../parts/table";
import type { FindingLine } from "../../shapes";
import { FINDINGS } from "./chosen";
import { Culprit, findingLabel, What } from "./cells";
import { Worklist } from "./worklist";

export function FindingList({ query }: { query: Query }) {
  return <Worklist kind={FINDINGS} query={query} columns={columns(query)} label={findingLabel} />;
}

function columns(query: Query): Column<FindingLine>[] {
  const orders = FINDINGS.orders;
  return [
    {
      name: "case",
      head: "Finding",
      heads: true,
      by: orders["case"]!,
      cell: (one) => <What one={one} query={query} />,
    },
    {
      name: "effect",
      head: "Change",
      by: orders["effect"]!,
      cell: (one) => <Effect effect={one.effect} unit={changeUnit(one)} verdict={one.verdict} interval />,
    },
    { name: "spark", head: "Around the change", cell: (one) => <ChangeSpark of={one} /> },
    { name: "culprit", head: "Culprit", cell: (one) => <Culprit one={one} /> },
    {
      name: "machine",
      head: "Machine",
      by: orders["machine"]!,
      cell: (one) => <span class="soft">{one.machine_name}</span>,
    },
    {
      name: "found",
      head: "Found",
      by: orders["found"]!,
      cell: (one) => (
        <span class="nowrap" title={date(one.found_at)}>
          {ago(one.found_at)}
        </span>
      ),
    },
    { name: "state", head: "State", by: orders["state"]!, cell: (one) => <StateBadge state={one.state} /> },
    { name: "assignee", head: "Assignee", by: orders["assignee"]!, cell: (one) => one.assignee || null },
  ];
}
