// A line the size of a word: <Spark values={line.spark} label="latency over time" base={before} verdict="worse" wide />
//   `base` draws a dotted line at what it was before; `mark` (0..1) where a change lies; `verdict` colours the newest point.
//   Without `label` it is decoration.
//   <ChangeSpark of={finding} /> the values around a change

import type { FindingLine, Verdict } from "../shapes";
import { count } from "./format";
import "./spark.css";

interface SparkProps {
  values: readonly (number | null)[];
  label?: string;
  base?: number | undefined;
  mark?: number | undefined;
  verdict?: Verdict | undefined;
  wide?: boolean;
}

const HEIGHT = 24;

export function Spark({ values, label, base, mark, verdict, wide = false }: SparkProps) {
  const width = wide ? 260 : 96;
  const height = wide ? 44 : HEIGHT;
  const y = heights(base === undefined ? values : [...values, base], height);
  const places = placed(values, width, y);
  const last = places.at(-1);
  return (
    <svg
      class={wide ? "spark wide" : "spark"}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role={label ? "img" : "presentation"}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      {mark !== undefined && <line class="spark-mark" x1={mark * width} y1="0" x2={mark * width} y2={height} />}
      {base !== undefined && <line class="spark-base" x1="0" y1={y(base)} x2={width} y2={y(base)} />}
      <polyline class="spark-line" points={places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
      {last && <line class={`spark-end ${verdict ?? ""}`} x1={last[0]} y1={last[1]} x2={last[0]} y2={last[1]} />}
    </svg>
  );
}

/** The values on both sides of a change, with the level before it. */
export function ChangeSpark({ of, wide = false }: { of: FindingLine; wide?: boolean }) {
  return (
    <Spark
      values={of.spark}
      base={of.before.point}
      verdict={of.verdict}
      label={`${count(of.spark.length, "value")} around the change; dotted: level before`}
      wide={wide}
    />
  );
}

function placed(values: readonly (number | null)[], width: number, y: (of: number) => number): [number, number][] {
  const step = values.length > 1 ? (width - 8) / (values.length - 1) : 0;
  return values.flatMap((one, index) => (isKnown(one) ? [[4 + index * step, y(one)]] : []));
}

/** Where a value stands, of those that have to fit. */
function heights(values: readonly (number | null)[], height: number): (of: number) => number {
  const known = values.filter(isKnown);
  const low = Math.min(...known);
  const span = Math.max(...known) - low;
  return (of) => (span > 0 ? height - 4 - ((of - low) / span) * (height - 8) : height / 2);
}

function isKnown(of: number | null): of is number {
  return of !== null && Number.isFinite(of);
}
