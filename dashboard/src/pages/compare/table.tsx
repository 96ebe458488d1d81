// The lines of a comparison as a table; a line opens to show what lies behind it.
//   <ComparedTable lines={lines} a={side} b={side} query={route.query} />  sort and open live in the address

import type { Query } from "../../api";
import { VerdictBadge } from "../../parts/badges";
import { estimate, interval, number, paramsText } from "../../parts/format";
import { Opener, openRows } from "../../parts/opener";
import { Table, type Column } from "../../parts/table";
import { change } from "../../route";
import type { ComparedLine, Side } from "../../shapes";
import { ComparedMore } from "./more";
import { Ratio, ratioReach } from "./ratio";

interface Props {
  lines: readonly ComparedLine[];
  a: Side;
  b: Side;
  query: Query;
}

const AT_FIRST = 200; // a thousand rows of drawings are slow; the filters find the others

export function ComparedTable({ lines, a, b, query }: Props) {
  const { isOpen, toggle } = openRows(query["open"]);
  const reach = ratioReach(lines.map((line) => line.ratio));
  const rank = new Map(lines.map((line, index) => [line, lines.length - index])); // they come with the largest effect first
  const name = (line: ComparedLine) => <Name line={line} open={isOpen(keyOf(line))} toggle={toggle} />;
  const columns: Column<ComparedLine>[] = [
    { name: "case", head: "Case", heads: true, by: label, cell: name },
    { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric },
    { name: "before", head: "Before", number: true, cell: (line) => <Valued line={line} of="before" /> },
    { name: "after", head: "After", number: true, cell: (line) => <Valued line={line} of="after" /> },
    {
      name: "ratio",
      head: "Ratio",
      under: <Ends reach={reach} />,
      largestFirst: true,
      by: (line) => line.ratio?.point ?? null,
      cell: (line) => <RatioCell line={line} reach={reach} />,
    },
    {
      name: "effect",
      head: "Effect",
      wide: true,
      largestFirst: true,
      by: (line) => rank.get(line) ?? null,
      cell: (line) => <Verdict line={line} />,
    },
  ];
  return (
    <Table
      caption="Compared metrics"
      columns={columns}
      rows={lines}
      keyOf={(line) => keyOf(line) + line.unit}
      sorted={query["sort"] || "-effect"}
      onSort={(sort) => change({ sort })}
      few={AT_FIRST}
      more={(line) => isOpen(keyOf(line)) && <ComparedMore line={line} a={a} b={b} />}
      cards
    />
  );
}

function keyOf(line: ComparedLine): string {
  return line.series[0] ?? `${label(line)} ${line.metric}`;
}

function label(line: ComparedLine): string {
  return `${line.case} ${paramsText(line.params)} ${line.machine}`;
}

function Name({ line, open, toggle }: { line: ComparedLine; open: boolean; toggle: (key: string) => void }) {
  return (
    <Opener open={open} onToggle={() => toggle(keyOf(line))}>
      {line.case} <span class="soft">{[paramsText(line.params), line.machine].filter(Boolean).join(" · ")}</span>
      <span class="aside"> {line.metric}</span>
    </Opener>
  );
}

function Valued({ line, of }: { line: ComparedLine; of: "before" | "after" }) {
  const known = line[of];
  if (!known) return <span class="soft">not measured</span>;
  return (
    <>
      {estimate(known, line.unit)}
      <div class="soft small">{interval(known, line.unit)}</div>
    </>
  );
}

/** What the ends and the middle of the drawn scale mean. */
function Ends({ reach }: { reach: number }) {
  return (
    <span class="ratio-ends soft" aria-hidden="true">
      <span>{number(1 / reach, 2)}</span>
      <span>1</span>
      <span>{number(reach, 2)}</span>
    </span>
  );
}

function RatioCell({ line, reach }: { line: ComparedLine; reach: number }) {
  return (
    <>
      <Ratio ratio={line.ratio} verdict={line.verdict} reach={reach} />
      <span class="ratio-words nowrap">
        {line.ratio ? number(line.ratio.point) : "–"} <span class="soft">{interval(line.ratio, "1")}</span>
      </span>
    </>
  );
}

function Verdict({ line }: { line: ComparedLine }) {
  return (
    <>
      <VerdictBadge verdict={line.verdict} />{" "}
      <span class="compared-sentence">{line.sentence.replace(`${line.verdict}: `, "")}</span>
    </>
  );
}
