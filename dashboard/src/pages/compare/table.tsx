// The rows of a comparison as a table, those of one case together; a row opens to show what lies behind it.
//   <ComparedTable lines={lines} sides={sides} query={route.query} />  sort, group and open live in the address

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isStatic, type Query } from "../../api";
import { VerdictBadge } from "../../parts/badges";
import { useNarrow } from "../../parts/fold";
import { count, estimate, interval, number, paramsText } from "../../parts/format";
import { Opener, openRows } from "../../parts/opener";
import { CARDS } from "../../parts/table";
import { change } from "../../route";
import type { ComparedLine, Estimate, Side, Verdict } from "../../shapes";
import { ComparedMore } from "./more";
import { grouped, verdictsOf } from "./narrow";
import { Ratio, ratioReach } from "./ratio";
import { shortName } from "./sides";

interface Props {
  caption: string;
  lines: readonly ComparedLine[];
  sides: readonly Side[];
  query: Query;
}

export function ComparedTable({ caption, lines: all, sides, query }: Props) {
  const [whole, setWhole] = useState(false);
  const lines = useNarrow() && !whole ? all.slice(0, CARDS) : all;
  const { isOpen, toggle } = openRows(query["open"]);
  const reach = ratioReach(lines.flatMap((line) => [line.ratio, ...line.others.map((one) => one.ratio)]));
  const groups: [string, ComparedLine[]][] = query["group"] === "none" ? [["", [...lines]]] : grouped(lines);
  const span = sides.length === 2 ? 6 : sides.length + 2;
  const row = (line: ComparedLine, named: boolean) => {
    const open = isOpen(keyOf(line));
    return (
      <>
        <tr class={open ? "opened" : ""}>
          <th scope="row">
            <Name line={line} named={named} open={open} toggle={toggle} />
          </th>
          <td data-head="Metric">{line.metric}</td>
          <td class="number" data-head={sides.length === 2 ? "Before" : "A"}>
            <Valued of={line.before} unit={line.unit} />
          </td>
          {sides.length === 2 ? <Pair line={line} reach={reach} /> : <Columns line={line} sides={sides} />}
        </tr>
        {open && (
          <tr class="below">
            <td colSpan={span}>
              <ComparedMore line={line} sides={sides} query={query} />
            </td>
          </tr>
        )}
      </>
    );
  };
  return (
    <>
      <div class={`table-room has-cards${sides.length > 3 ? " scrolls" : ""}`}>
        <table class="table compared">
          <caption class="aside">{caption}</caption>
          <Heads sides={sides} reach={reach} query={query} />
          {groups.map(([name, rows]) => (
            <tbody key={name}>
              {name && (
                <tr class="compared-group">
                  <th scope="rowgroup" colSpan={span}>
                    {name} <span class="soft">{tally(rows)}</span>
                  </th>
                </tr>
              )}
              {rows.map((line) => row(line, !name))}
            </tbody>
          ))}
        </table>
      </div>
      {lines.length < all.length && (
        <button type="button" class="table-all" onClick={() => setWhole(true)}>
          Show all {all.length}
        </button>
      )}
    </>
  );
}

function Heads({ sides, reach, query }: { sides: readonly Side[]; reach: number; query: Query }) {
  return (
    <thead>
      <tr>
        <Head name="case" query={query}>
          Case
        </Head>
        <Head name="metric" query={query}>
          Metric
        </Head>
        {sides.length === 2 ? (
          <>
            <th scope="col" class="number">
              Before
            </th>
            <th scope="col" class="number">
              After
            </th>
            <Head name="-ratio" back="ratio" query={query} under={<Ends reach={reach} />}>
              Ratio
            </Head>
            <Head name="effect" query={query} wide>
              Effect
            </Head>
          </>
        ) : (
          sides.map((side, i) => (
            <th key={side.given} scope="col" class="number compared-side">
              {shortName(i, sides.length)}
              <span class="soft small">{side.label}</span>
            </th>
          ))
        )}
      </tr>
    </thead>
  );
}

interface HeadProps {
  name: string;
  /** The order of a second click. */
  back?: string;
  query: Query;
  wide?: boolean;
  under?: ComponentChildren;
  children: string;
}

/** A server sorts all rows, of which this page shows some; a published site has them in the order of their effect. */
function Head({ name, back, query, wide, under, children }: HeadProps) {
  const sorted = query["sort"] || "effect";
  const order = sorted === name ? (name === "-ratio" || name === "effect" ? "descending" : "ascending") : undefined;
  const turned = back !== undefined && sorted === back ? "ascending" : undefined;
  const sign = order || turned ? (order === "descending" ? "↓" : "↑") : "";
  const next = sorted === name ? (back ?? "effect") : name;
  return (
    <th scope="col" class={wide ? "wide" : ""} aria-sort={order ?? turned}>
      {isStatic ? (
        children
      ) : (
        <button
          type="button"
          class="plain"
          onClick={() => change({ sort: next === "effect" ? undefined : next, pages: undefined })}
        >
          {children}
          <span class="table-order" aria-hidden="true">
            {sign}
          </span>
        </button>
      )}
      {under}
    </th>
  );
}

export function keyOf(line: ComparedLine): string {
  return line.series[0] ?? `${line.case} ${paramsText(line.params)} ${line.machine} ${line.metric}`;
}

interface NameProps {
  line: ComparedLine;
  /** Whether the case is named here, and not above the rows of its group. */
  named: boolean;
  open: boolean;
  toggle: (key: string) => void;
}

function Name({ line, named, open, toggle }: NameProps) {
  const rest = [paramsText(line.params), line.machine].filter(Boolean).join(" · ");
  return (
    <Opener open={open} onToggle={() => toggle(keyOf(line))}>
      <span class={named ? "" : "aside"}>{line.case} </span>
      {rest ? <span class={named ? "soft" : ""}>{rest}</span> : !named && <span class="soft">no parameters</span>}
      <span class="aside"> {line.metric}</span>
    </Opener>
  );
}

function Valued({ of, unit }: { of: Estimate | null; unit: string }) {
  if (!of) return <span class="soft">not measured</span>;
  return (
    <>
      {estimate(of, unit)}
      <div class="soft small">{interval(of, unit)}</div>
    </>
  );
}

function Pair({ line, reach }: { line: ComparedLine; reach: number }) {
  return (
    <>
      <td class="number" data-head="After">
        <Valued of={line.after} unit={line.unit} />
      </td>
      <td data-head="Ratio">
        <Ratio ratio={line.ratio} verdict={line.verdict} reach={reach} />
        <span class="ratio-words nowrap">
          {line.ratio ? number(line.ratio.point) : "–"} <span class="soft">{interval(line.ratio, "1")}</span>
        </span>
      </td>
      <td class="wide" data-head="Effect">
        <VerdictBadge verdict={line.verdict} />{" "}
        <span class="compared-sentence">{line.sentence.replace(`${line.verdict}: `, "")}</span>
      </td>
    </>
  );
}

/** One column for each side but the first. */
function Columns({ line, sides }: { line: ComparedLine; sides: readonly Side[] }) {
  const cells = [
    { after: line.after, ratio: line.ratio, verdict: line.verdict, sentence: line.sentence },
    ...line.others,
  ];
  return (
    <>
      {cells.map((cell, i) => (
        <td key={i} class="number" data-head={shortName(i + 1, sides.length)}>
          <span title={cell.sentence}>
            {cell.after ? estimate(cell.after, line.unit) : <span class="soft">not measured</span>}{" "}
            <VerdictBadge verdict={cell.verdict} />
            <div class={`soft small ${cell.ratio ? "nowrap" : "compared-why"}`}>
              {cell.ratio ? `×${number(cell.ratio.point)} ${interval(cell.ratio, "1")}` : cell.sentence}
            </div>
          </span>
        </td>
      ))}
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

const IN_ORDER: readonly Verdict[] = ["worse", "better", "unclear", "same"];

function tally(rows: readonly ComparedLine[]): string {
  const all = rows.flatMap(verdictsOf);
  const said = IN_ORDER.flatMap((verdict) => {
    const of = all.filter((one) => one === verdict).length;
    return of ? `${of} ${verdict}` : [];
  });
  return `${count(rows.length, "row")}: ${said.join(", ")}`;
}
