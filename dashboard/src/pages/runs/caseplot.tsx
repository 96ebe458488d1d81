// One metric of every case of a run, each with its interval, on one scale.
//   <CasePlot cases={run.cases} metric="latency_p50" />

import { useRef } from "preact/hooks";
import type { CaseLine, Metric } from "../../shapes";
import { estimate, interval, paramsText, value } from "../../parts/format";
import { spaced, useWidth } from "../../parts/plot";
import { plain, scale } from "../../parts/scale";

const ROW = 24; // pixels
const TALL = 40; // pixels of a row whose name stands above it
const NARROW = 600; // pixels: no room for names at the side
const MOST = 40; // cases
const LETTER = 7; // pixels
const WIDE = 50; // largest over least: from here on the short ones could not be seen on a plain scale

export function CasePlot({ cases, metric }: { cases: readonly CaseLine[]; metric: string }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const known = measured(cases, metric).slice(0, MOST);
  if (!known.length) return null;
  const unit = known[0]![1].unit;
  const ends = known.flatMap(([, { estimate: e }]) => [e.low ?? e.point, e.high ?? e.point]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const log = low > 0 && high / low > WIDE;
  const narrow = width < NARROW;
  const row = narrow ? TALL : ROW;
  const x = scale(log ? low : Math.min(0, low), high, { log, count: narrow ? 3 : 6 });
  const longest = Math.max(...known.map(([line]) => words(line, cases).length)) * LETTER + 12;
  const left = narrow ? 12 : Math.min(width * 0.42, longest);
  const px = (at: number) => left + x.place(at) * (width - left - 70);
  const bottom = known.length * row;
  const write = (at: number) => plain(value(at, unit));
  return (
    <div class="plot" ref={place}>
      <svg
        width={width}
        height={bottom + 24}
        role="img"
        aria-label={`${metric} of ${known.length} cases; the table above has the numbers`}
      >
        <g class="plot-axes">
          {spaced(x.ticks, px, write).map((tick) => (
            <g key={tick}>
              <line x1={px(tick)} x2={px(tick)} y1={0} y2={bottom} />
              <text x={px(tick)} y={bottom + 16} text-anchor="middle">
                {write(tick)}
              </text>
            </g>
          ))}
        </g>
        {known.map(([line, one], i) => (
          <Row
            key={line.label}
            label={shortened(words(line, cases), narrow ? width - left : left)}
            full={line.label}
            metric={one}
            y={(i + 1) * row - ROW / 2}
            above={narrow}
            left={left}
            px={px}
            log={log}
          />
        ))}
      </svg>
    </div>
  );
}

interface RowProps {
  label: string;
  full: string;
  metric: Metric;
  y: number;
  /** The name stands above, not at the side. */
  above: boolean;
  left: number;
  px: (at: number) => number;
  log: boolean;
}

function Row({ label, full, metric, y, above, left, px, log }: RowProps) {
  const { point, low, high } = metric.estimate;
  return (
    <g class="plot-mark tone-0 case-mark">
      <title>{`${full}: ${estimate(metric.estimate, metric.unit)} ${interval(metric.estimate, metric.unit)}`}</title>
      <text x={above ? left : left - 8} y={above ? y - 10 : y + 4} text-anchor={above ? "start" : "end"}>
        {label}
      </text>
      {/* without a zero a length would mean nothing: then a line only leads the eye */}
      <rect
        class="case-bar"
        x={left}
        y={log ? y - 0.5 : y - 5}
        width={Math.max(0, px(point) - left)}
        height={log ? 1 : 10}
      />
      {low !== null && high !== null && <line x1={px(low)} x2={px(high)} y1={y} y2={y} />}
      <circle cx={px(point)} cy={y} r={log ? 4 : 3} />
      <text class="case-value" x={Math.max(px(point), px(high ?? point)) + 8} y={y + 4}>
        {estimate(metric.estimate, metric.unit)}
      </text>
    </g>
  );
}

function measured(cases: readonly CaseLine[], metric: string): [CaseLine, Metric][] {
  return cases.flatMap((line): [CaseLine, Metric][] => {
    const found = line.metrics.find((one) => one.name === metric);
    return found ? [[line, found]] : [];
  });
}

/** What does not tell cases apart is left out: a name that all share, params that are the same in all cases of a name. */
function words(line: CaseLine, cases: readonly CaseLine[]): string {
  const alike = cases.filter((one) => one.case === line.case);
  const telling = Object.entries(line.params).filter(([name, given]) =>
    alike.some((one) => one.params[name] !== given),
  );
  const params = paramsText(Object.fromEntries(telling));
  return params && alike.length === cases.length ? params : `${line.case} ${params}`.trim();
}

function shortened(text: string, room: number): string {
  const letters = Math.floor((room - 12) / LETTER);
  return text.length <= letters ? text : `…${text.slice(1 - letters)}`; // cases differ at the end
}
