// What a run measured so far, the newest first.

import { StatusBadge } from "../../parts/badges";
import { metricNames } from "../../parts/casetable";
import { estimate, interval, paramsText } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { CaseLine, Status } from "../../shapes";

const METRICS = 4;

export function Measured({ results }: { results: readonly CaseLine[] }) {
  const names = metricNames(results).slice(0, METRICS);
  const metrics = names.map(
    (name): Column<CaseLine> => ({ name, head: name, number: true, cell: (line) => <Value line={line} name={name} /> }),
  );
  const columns: Column<CaseLine>[] = [
    { name: "case", head: "Case", heads: true, wide: true, cell: (line) => <Name line={line} /> },
    { name: "status", head: "Status", cell: (line) => <Statuses line={line} /> },
    ...metrics,
  ];
  return (
    <Table
      caption="Results so far, latest first"
      columns={columns}
      rows={results.toReversed()}
      keyOf={(line) => line.label}
      cards
    />
  );
}

function Name({ line }: { line: CaseLine }) {
  const newest = line.results.at(-1);
  return (
    <span>
      {newest ? <a href={href("results", [newest])}>{line.case}</a> : line.case}{" "}
      <span class="soft small">{paramsText(line.params)}</span>
      {line.reason && <span class="worse small live-reason"> {line.reason}</span>}
    </span>
  );
}

function Statuses({ line }: { line: CaseLine }) {
  return (
    <span class="row live-statuses">
      {Object.entries(line.statuses).map(([status, times]) => (
        <StatusBadge key={status} status={status as Status} {...(times > 1 ? { count: times } : {})} />
      ))}
    </span>
  );
}

function Value({ line, name }: { line: CaseLine; name: string }) {
  const metric = line.metrics.find((one) => one.name === name);
  if (!metric) return <span class="soft">–</span>;
  return (
    <span>
      {estimate(metric.estimate, metric.unit)} <span class="soft small">{interval(metric.estimate, metric.unit)}</span>
    </span>
  );
}
