// The lines of a comparison as a table; a line opens to show what lies behind it.
//   <ComparedTable lines={lines} a={side} b={side} query={route.query} />  sort and open live in the address

import type { ComponentChildren } from "preact";
import { change } from "../route";
import type { ComparedLine, Side } from "../shapes";
import { VerdictBadge } from "./badges";
import { ComparedMore } from "./comparedmore";
import { estimate, interval, number, paramsText } from "./format";
import { More, Opener } from "./opener";
import { Ratio, ratioReach } from "./ratio";
import "./table.css";

interface Props {
  lines: readonly ComparedLine[];
  a: Side;
  b: Side;
  query: { [name: string]: string };
}

const AT_FIRST = 200; // a thousand rows of drawings are slow; the filters find the others
const COLUMNS = 6;
const ORDERS: { [name: string]: (x: ComparedLine, y: ComparedLine) => number } = {
  case: (x, y) => label(x).localeCompare(label(y)),
  metric: (x, y) => x.metric.localeCompare(y.metric),
  ratio: (x, y) => (y.ratio?.point ?? -1) - (x.ratio?.point ?? -1),
};

export function ComparedTable({ lines, a, b, query }: Props) {
  const order = ORDERS[query.sort ?? ""];
  const sorted = order ? [...lines].sort(order) : lines;
  const shown = query.all ? sorted : sorted.slice(0, AT_FIRST);
  const reach = ratioReach(lines.map((line) => line.ratio));
  const opened = new Set((query.open ?? "").split(",").filter(Boolean));
  const toggle = (key: string) => {
    if (!opened.delete(key)) opened.add(key);
    change({ open: [...opened].join(",") }, true);
  };
  return (
    <>
      <div class="table-room">
        <table class="table compared folds">
          <caption class="aside">Compared metrics</caption>
          <thead>
            <tr>
              <Head name="case" query={query} />
              <Head name="metric" query={query} />
              <th scope="col" class="number">
                before
              </th>
              <th scope="col" class="number">
                after
              </th>
              <Head name="ratio" query={query}>
                <Ends reach={reach} />
              </Head>
              <th scope="col" aria-sort={order ? "none" : "descending"}>
                <button type="button" class="plain" onClick={() => change({ sort: undefined })}>
                  effect {!order && <span aria-hidden="true">↓</span>}
                </button>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((line) => {
              const key = line.series[0] ?? `${label(line)} ${line.metric}`;
              return (
                <Line
                  key={key + line.unit}
                  line={line}
                  reach={reach}
                  a={a}
                  b={b}
                  open={opened.has(key)}
                  onToggle={() => toggle(key)}
                />
              );
            })}
          </tbody>
        </table>
      </div>
      {shown.length < lines.length && (
        <button type="button" onClick={() => change({ all: "1" })}>
          Show all {lines.length}
        </button>
      )}
    </>
  );
}

function Head({
  name,
  query,
  children,
}: {
  name: string;
  query: { [name: string]: string };
  children?: ComponentChildren;
}) {
  const chosen = query.sort === name;
  return (
    <th scope="col" aria-sort={chosen ? (name === "ratio" ? "descending" : "ascending") : "none"}>
      <button type="button" class="plain" onClick={() => change({ sort: chosen ? undefined : name })}>
        {name} {chosen && <span aria-hidden="true">{name === "ratio" ? "↓" : "↑"}</span>}
      </button>
      {children}
    </th>
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

interface LineProps {
  line: ComparedLine;
  reach: number;
  a: Side;
  b: Side;
  open: boolean;
  onToggle: () => void;
}

function Line({ line, reach, a, b, open, onToggle }: LineProps) {
  return (
    <>
      <tr class={open ? "opened" : ""}>
        <th scope="row">
          <Opener open={open} onToggle={onToggle}>
            {line.case} <span class="soft">{[paramsText(line.params), line.machine].filter(Boolean).join(" · ")}</span>
            <span class="aside"> {line.metric}</span>
          </Opener>
        </th>
        <td class="folds-whole">{line.metric}</td>
        <Valued line={line} of="before" />
        <Valued line={line} of="after" />
        <td class="nowrap" data-head="ratio">
          <Ratio ratio={line.ratio} verdict={line.verdict} reach={reach} />
          <span class="ratio-words">
            {line.ratio ? number(line.ratio.point) : "–"}{" "}
            <span class="soft">{line.ratio && interval(line.ratio, "1")}</span>
          </span>
        </td>
        <td class="folds-whole">
          <VerdictBadge verdict={line.verdict} />{" "}
          <span class="compared-sentence">{line.sentence.replace(`${line.verdict}: `, "")}</span>
        </td>
      </tr>
      {open && (
        <More columns={COLUMNS}>
          <ComparedMore line={line} a={a} b={b} />
        </More>
      )}
    </>
  );
}

function Valued({ line, of }: { line: ComparedLine; of: "before" | "after" }) {
  const known = line[of];
  return (
    <td class="number" data-head={of}>
      {known ? estimate(known, line.unit) : <span class="soft">not measured</span>}
      {known && <div class="soft small">{interval(known, line.unit)}</div>}
    </td>
  );
}

function label(line: ComparedLine): string {
  return `${line.case} ${paramsText(line.params)} ${line.machine}`;
}
