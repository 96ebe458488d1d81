// Metrics with their intervals, in full.
//   <Metrics metrics={result.metrics} series={result.series} />  with a way to each history where `series` knows one

import { href } from "../route";
import type { Metric } from "../shapes";
import { estimate, interval, percent, value, whole } from "./format";
import { Table, type Column } from "./table";

export function Metrics({
  metrics,
  series = {},
}: {
  metrics: readonly Metric[];
  series?: { [metric: string]: string };
}) {
  const ends = metrics.some((m) => m.least !== null || m.most !== null);
  const least: Column<Metric> = { name: "least", head: "Min", cell: (m) => value(m.least, m.unit), number: true };
  const most: Column<Metric> = { name: "most", head: "Max", cell: (m) => value(m.most, m.unit), number: true };
  const columns: Column<Metric>[] = [
    {
      name: "name",
      head: "Metric",
      cell: (m) => <Name metric={m} series={series[m.name]} />,
      by: (m) => m.name,
      heads: true,
    },
    { name: "value", head: "Value", cell: (m) => <strong>{estimate(m.estimate, m.unit, 4)}</strong>, number: true },
    {
      name: "interval",
      head: "Interval",
      cell: (m) => interval(m.estimate, m.unit, 4) || <span class="soft">none</span>,
      number: true,
    },
    { name: "width", head: "±", cell: (m) => halfWidth(m), by: (m) => shareOf(m), number: true },
    ...(ends ? [least, most] : []),
    { name: "count", head: "Count", cell: (m) => whole(m.count), by: (m) => m.count, number: true },
    { name: "better", head: "Better", cell: (m) => <span class="soft">{m.better ?? "–"}</span> },
    { name: "method", head: "Method", cell: (m) => <span class="soft">{how(m)}</span> },
  ];
  return <Table caption="Metrics" columns={columns} rows={metrics} keyOf={(m) => m.name} />;
}

function Name({ metric, series }: { metric: Metric; series: string | undefined }) {
  return series ? <a href={href("series", [series])}>{metric.name}</a> : metric.name;
}

/** Half of the interval as a share of the point. */
export function halfWidth(metric: Metric): string {
  const share = shareOf(metric);
  return share === null ? "–" : percent(share);
}

function shareOf({ estimate: { point, low, high } }: Metric): number | null {
  return low === null || high === null || !point ? null : Math.abs((high - low) / 2 / point);
}

function how({ estimate: { confidence, method } }: Metric): string {
  return [method, confidence ? percent(confidence) : ""].filter(Boolean).join(", ");
}
