// How all cases together changed: the geometric mean of the ratios of each metric, and of each suite when it is opened.
//   <Means comparison={comparison} sides={sides} query={route.query} />  suites lives in the address

import type { Query } from "../../api";
import { VerdictBadge } from "../../parts/badges";
import { count, interval, number } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import { change } from "../../route";
import type { Comparison, MeanColumn, MeanRatio, Side, Verdict } from "../../shapes";
import { shortName } from "./sides";

const IN_ORDER: readonly Verdict[] = ["worse", "better", "unclear", "same"];

export function Means({ comparison, sides, query }: { comparison: Comparison; sides: readonly Side[]; query: Query }) {
  const all = comparison.means.filter((mean) => !mean.suite);
  const bySuite = comparison.means.filter((mean) => mean.suite);
  if (!all.some((mean) => mean.columns.some((column) => column.cases > 1))) return null;
  const open = Boolean(query["suites"]);
  return (
    <section class="section compared-means">
      <div class="row">
        <h2>All cases together</h2>
        {bySuite.length > 0 && (
          <button type="button" aria-expanded={open} onClick={() => change({ suites: open ? undefined : "1" }, true)}>
            By suite
          </button>
        )}
      </div>
      <Table
        caption="Geometric mean of the ratios by metric"
        columns={columnsOf(sides, false)}
        rows={all}
        keyOf={(mean) => mean.metric}
        cards
      />
      {open && (
        <Table
          caption="Geometric mean of the ratios by suite and metric"
          columns={columnsOf(sides, true)}
          rows={bySuite}
          keyOf={(mean) => `${mean.suite} ${mean.metric}`}
          cards
        />
      )}
      <p class="soft small">
        Geometric means of the ratios to {sides.length === 2 ? "the side before" : "A"}. Intervals are of 95 % each,
        from the spread between rounds; with one round on a side there is none.
      </p>
    </section>
  );
}

function columnsOf(sides: readonly Side[], withSuite: boolean): Column<MeanRatio>[] {
  const suite: Column<MeanRatio> = {
    name: "suite",
    head: "Suite",
    cell: (mean) => mean.suite,
    by: (mean) => mean.suite,
  };
  const pair = sides.length === 2;
  return [
    ...(withSuite ? [suite] : []),
    { name: "metric", head: "Metric", heads: true, cell: (mean) => mean.metric, by: (mean) => mean.metric },
    { name: "better", head: "Better", cell: (mean) => mean.better },
    ...sides.slice(1).flatMap((_, i): Column<MeanRatio>[] => {
      const name = shortName(i + 1, sides.length);
      const of = (mean: MeanRatio) => mean.columns[i]!;
      return [
        {
          name: `ratio ${i}`,
          head: pair ? "Mean ratio" : `Mean ratio of ${name}`,
          number: true,
          largestFirst: true,
          by: (mean) => of(mean).ratio?.point ?? null,
          cell: (mean) => <MeanCell mean={mean} column={of(mean)} />,
        },
        {
          name: `cases ${i}`,
          head: pair ? "Cases" : `Cases of ${name}`,
          cell: (mean) => <Counted column={of(mean)} />,
        },
      ];
    }),
  ];
}

function MeanCell({ mean, column: { ratio } }: { mean: MeanRatio; column: MeanColumn }) {
  if (!ratio) return <span class="soft">–</span>;
  return (
    <span class={`nowrap ${tone(ratio, mean.better)}`} title={ratio.method}>
      ×{number(ratio.point, 4)} <span class="soft small">{interval(ratio, "1", 4) || "no interval"}</span>
    </span>
  );
}

/** A mean whose interval excludes 1 is coloured by its direction; it is not one of the verdicts. */
function tone({ low, high }: { low: number | null; high: number | null }, better: string): string {
  if (low === null || high === null || (low <= 1 && high >= 1)) return "";
  return low > 1 === (better === "higher") ? "better" : "worse";
}

function Counted({ column }: { column: MeanColumn }) {
  return (
    <span class="row compared-counts">
      <span class="nowrap">
        {count(column.cases, "case")}
        {column.left_out > 0 && (
          <span class="soft" title="On one side alone, measured in quarantine, or without a ratio">
            {" "}
            ({column.left_out} left out)
          </span>
        )}
      </span>
      {IN_ORDER.filter((verdict) => column.counts[verdict]).map((verdict) => (
        <span key={verdict} class="nowrap">
          {column.counts[verdict]} <VerdictBadge verdict={verdict} />
        </span>
      ))}
    </span>
  );
}
