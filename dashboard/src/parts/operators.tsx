// Where the time of a model goes: kinds of operators over the operators themselves, and the same as a table.
//   <Operators operators={result.operators} />

import { useRef, useState } from "preact/hooks";
import type { Operator } from "../shapes";
import { percent, value } from "./format";
import { useWidth } from "./plot";
import { Table, type Column } from "./table";
import { hasWords } from "./words";
import "./operators.css";

const AT_FIRST = 12;
const ROW = 34; // pixels
const LETTER = 6.6; // pixels: words are written where they fit
const KINDS_TOLD_APART = 8;

export function Operators({ operators }: { operators: readonly Operator[] }) {
  const [words, setWords] = useState("");
  const found = operators.filter((o) => hasWords(`${o.name} ${o.kind} ${o.shapes}`, words));
  const largest = Math.max(...operators.map((o) => o.share));
  return (
    <>
      <Icicle operators={operators} />
      {operators.length > AT_FIRST && (
        <label class="field">
          Filter operators
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      )}
      {found.length > 0 ? (
        <Table
          caption="Operators, slowest first"
          columns={columns(operators, largest)}
          rows={found}
          keyOf={keyOf}
          few={AT_FIRST}
        />
      ) : (
        <p class="soft">No matching operators.</p>
      )}
    </>
  );
}

function columns(all: readonly Operator[], largest: number): Column<Operator>[] {
  const shapes: Column<Operator> = {
    name: "shapes",
    head: "Shapes",
    cell: (o) => <span class="soft">{o.shapes}</span>,
  };
  return [
    { name: "name", head: "Operator", cell: (o) => o.name, heads: true },
    { name: "kind", head: "Kind", cell: (o) => o.kind, by: (o) => o.kind },
    { name: "time", head: "Time per call", cell: (o) => value(o.seconds, "s"), by: (o) => o.seconds, number: true },
    { name: "share", head: "Share", cell: (o) => percent(o.share), number: true },
    { name: "drawn", head: "", cell: (o) => <Share part={o.share / (largest || 1)} /> },
    {
      name: "calls",
      head: "Executions per call",
      cell: (o) => String(Number(o.calls.toFixed(2))),
      by: (o) => o.calls,
      number: true,
    },
    ...(all.some((o) => o.shapes) ? [shapes] : []),
  ];
}

function keyOf(operator: Operator): string {
  return JSON.stringify([operator.name, operator.kind, operator.shapes]);
}

function Share({ part }: { part: number }) {
  return (
    <svg class="share" width="120" height="10" aria-hidden="true">
      <rect width={120 * part} height="10" />
    </svg>
  );
}

interface Kind {
  kind: string;
  share: number;
  operators: Operator[];
}

/** The kinds, the longest first, each with its operators. */
export function byKind(operators: readonly Operator[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const operator of operators) {
    const kind = kinds.get(operator.kind) ?? { kind: operator.kind, share: 0, operators: [] };
    kind.share += operator.share;
    kind.operators.push(operator);
    kinds.set(operator.kind, kind);
  }
  return [...kinds.values()].sort((a, b) => b.share - a.share);
}

/** Widths are shares of the time: kinds above, their operators below. The table says the same in words. */
function Icicle({ operators }: { operators: readonly Operator[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const kinds = byKind(operators);
  const whole = kinds.reduce((sum, kind) => sum + kind.share, 0) || 1;
  let left = 0;
  const label = kinds
    .slice(0, 3)
    .map((kind) => `${kind.kind} ${percent(kind.share)}`)
    .join(", ");
  return (
    <div class="icicle" ref={place}>
      <svg width={width} height={2 * ROW} role="img" aria-label={`Shares of the time: ${label}`}>
        {kinds.map((kind, i) => {
          const from = left;
          left += (kind.share / whole) * width;
          let inner = from;
          const tone = `icicle-${Math.min(i, KINDS_TOLD_APART - 1)}`;
          return (
            <g class={tone} key={kind.kind}>
              <Block x={from} y={0} width={left - from} name={kind.kind} share={kind.share} />
              {kind.operators.map((operator, j) => {
                const start = inner;
                inner += (operator.share / whole) * width;
                return (
                  <Block key={j} x={start} y={ROW} width={inner - start} name={operator.name} share={operator.share} />
                );
              })}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function Block({ x, y, width, name, share }: { x: number; y: number; width: number; name: string; share: number }) {
  const room = Math.floor((width - 10) / LETTER);
  const words = `${name} ${percent(share)}`;
  const written =
    words.length <= room ? words : name.length <= room ? name : room > 3 ? `${name.slice(0, room - 1)}…` : "";
  return (
    <g class={y ? "icicle-operator" : "icicle-kind"}>
      <title>{words}</title>
      <rect x={x + 0.5} y={y + 0.5} width={Math.max(0.5, width - 1)} height={ROW - 1} />
      {written && (
        <text x={x + 6} y={y + ROW / 2 + 4}>
          {written}
        </text>
      )}
    </g>
  );
}
