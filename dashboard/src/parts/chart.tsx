// Lines over time (or over a number), drawn by uPlot: bands, change points, notes, levels; zoom, pan, hover, keyboard.
//   <Chart label="Latency of resnet" lines={lines} marks={marks} notes={notes} levels={levels} log band zero
//          range={[from, to]} onRange={(range) => ...} tip={(line, index, pinned) => <p>...</p>} height={380} xUnit="s" />
// `lines` is a new chart whenever it is another array: make it with useMemo. `range` null shows everything; without
// `onRange` the chart keeps its range itself. `xUnit` "" (as it is left out) means instants in milliseconds; with `xName`
// places are whole numbers that have names, such as commits. `releases` are names that stand on the axis.
// A click or Enter pins the tip, so that links in it can be followed. Beside it stands a table of what is in view.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { drawBands } from "./chart/bands";
import { merged, nearest, type ChartLine, type ChartRange, type ChartRelease, type Place } from "./chart/data";
import { DataTable } from "./chart/datatable";
import { gestures, moved, zoomed } from "./chart/gestures";
import { Flags, placeFlags, type ChartMark, type ChartNote } from "./chart/flags";
import { inkOf, optionsFor, type ChartLevel } from "./chart/options";
import { drawReleases } from "./chart/releases";
import { drawSpans, type ChartSpan } from "./chart/spans";
import { reading, TipBox } from "./chart/tip";
import { useKeys, type KeyBinding } from "./keys";
import { onTheme } from "./theme";

export type { ChartLevel, ChartLine, ChartMark, ChartNote, ChartRange, ChartRelease };

export interface ChartProps {
  label: string;
  lines: readonly ChartLine[];
  marks?: readonly ChartMark[];
  notes?: readonly ChartNote[];
  levels?: readonly ChartLevel[];
  log?: boolean;
  band?: boolean;
  zero?: boolean;
  range?: ChartRange | null;
  onRange?: (range: ChartRange | null) => void;
  tip?: (line: number, index: number, pinned: boolean) => ComponentChildren;
  height?: number;
  xUnit?: string;
  xName?: (x: number) => string;
  releases?: readonly ChartRelease[];
  spans?: readonly ChartSpan[];
}

const NONE: readonly never[] = [];
const KEYS: readonly KeyBinding[] = [
  { keys: "← →", does: "In a chart: previous or next point" },
  { keys: "↑ ↓", does: "In a chart: another line" },
  { keys: "+ -", does: "In a chart: zoom; Shift ← → pans, 0 resets" },
  { keys: "Enter", does: "In a chart: pin the point, to follow its links" },
];

export function Chart(props: ChartProps) {
  const { label, lines, marks = NONE, notes = NONE, levels = NONE, log = false, band = true, zero = false } = props;
  const { height = 380, xUnit = "", xName, releases = NONE, spans = NONE } = props;
  const room = useRef<HTMLDivElement>(null);
  const flags = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<Place | null>(null);
  const [pinned, setPinned] = useState(false);
  const [own, setOwn] = useState<ChartRange | null>(null);
  const shown = props.onRange ? (props.range ?? null) : own;
  useKeys(KEYS);
  const latest = useRef({ shown, pinned, levels, releases, spans, setRange: props.onRange ?? setOwn });
  latest.current = { shown, pinned, levels, releases, spans, setRange: props.onRange ?? setOwn };

  // Before the frame is painted: the chart and the buttons around it never show different states.
  useLayoutEffect(() => {
    const target = room.current!;
    const data = merged(lines);
    const follow = (u: uPlot) =>
      !latest.current.pinned && setAt((before) => unlessSame(before, nearest(u, data, lines)));
    const placed = (u: uPlot) => flags.current && placeFlags(u, flags.current);
    const behind = (u: uPlot) => drawBands(u, lines, band, (line) => inkOf(lines[line]!, line));
    const options = optionsFor({
      lines,
      log,
      band,
      zero,
      height,
      xUnit,
      xName,
      width: target.clientWidth,
      marked: marks.length > 0,
    });
    const u = new uPlot(
      { ...options, hooks: hooks(latest, follow, behind, placed) },
      data.columns as uPlot.AlignedData,
      target,
    );
    plot.current = u;
    apply(u, latest.current.shown);
    const size = new ResizeObserver(() => target.clientWidth && u.setSize({ width: target.clientWidth, height }));
    size.observe(target);
    const ends = [
      onTheme(() => u.redraw()),
      gestures(u, (range) => latest.current.setRange(range)),
      () => size.disconnect(),
    ];
    return () => {
      for (const end of ends) end();
      u.destroy();
      plot.current = null;
    };
  }, [lines, log, band, zero, height, xUnit, xName, marks.length > 0]);

  useEffect(() => void (plot.current && apply(plot.current, shown)), [shown?.[0], shown?.[1]]);
  useEffect(() => plot.current?.redraw(false), [marks, notes, levels, releases, spans]);
  useEffect(() => {
    setAt(null);
    setPinned(false);
  }, [lines]);

  const keys = (event: KeyboardEvent) => {
    if (!plot.current || event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = keyStep(event, plot.current, lines, at);
    if (step === undefined) return;
    event.preventDefault();
    if (step === "pin" || step === "leave") setPinned(step === "pin" && at !== null && !pinned);
    else if (step === "all") latest.current.setRange(null);
    else if (Array.isArray(step)) latest.current.setRange(step);
    else {
      setPinned(false);
      setAt(step);
      bring(plot.current, lines, step, latest.current.setRange);
    }
  };
  const click = (event: MouseEvent) => {
    if (event.target instanceof Element && event.target.closest(".chart-tip, .chart-flags")) return;
    setPinned(at !== null && !pinned);
  };
  return (
    <div class="chart">
      <div
        class="chart-room"
        role="application"
        aria-roledescription="chart"
        aria-label={`${label}. Arrow keys read points, plus and minus zoom, Shift with arrows pans, Enter pins a point, 0 resets the zoom.`}
        tabIndex={0}
        onKeyDown={keys}
        onClick={click}
      >
        <div ref={room} class="chart-plot" />
        <Flags box={flags} marks={marks} notes={notes} />
        {at && plot.current && (
          <TipBox
            plot={plot.current}
            lines={lines}
            at={at}
            pinned={pinned}
            close={() => {
              setPinned(false);
              room.current?.parentElement?.focus();
            }}
          >
            {(props.tip ?? ((line, index) => reading(lines[line]!, index, xUnit)))(at.line, at.index, pinned)}
          </TipBox>
        )}
      </div>
      <DataTable label={label} lines={lines} range={shown} xUnit={xUnit} xName={xName} />
    </div>
  );
}

/** The place as it was held before, so that nothing is drawn again while the cursor stays at one point. */
function unlessSame(before: Place | null, now: Place | null): Place | null {
  return before && now && before.line === now.line && before.index === now.index ? before : now;
}

interface Latest {
  current: {
    shown: ChartRange | null;
    levels: readonly ChartLevel[];
    releases: readonly ChartRelease[];
    spans: readonly ChartSpan[];
    setRange: (range: ChartRange | null) => void;
  };
}

function hooks(
  latest: Latest,
  follow: (u: uPlot) => void,
  behind: (u: uPlot) => void,
  placed: (u: uPlot) => void,
): uPlot.Hooks.Arrays {
  return {
    setCursor: [follow],
    setSelect: [
      (u) => {
        const { left, width } = u.select;
        if (width < 4) return;
        latest.current.setRange([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    ],
    drawAxes: [(u) => drawSpans(u, latest.current.spans), (u) => drawReleases(u, latest.current.releases), behind],
    draw: [(u) => drawLevels(u, latest.current.levels), placed],
  };
}

function apply(u: uPlot, range: ChartRange | null): void {
  const xs = u.data[0];
  const [min, max] = range ?? [xs[0] ?? 0, xs.at(-1) ?? 1];
  if (range && u.scales["x"]!.min === min && u.scales["x"]!.max === max) return;
  u.setScale("x", { min, max });
}

/** What a key asks for: another point, a range, everything, to keep the point or to let it go; undefined for other keys. */
function keyStep(
  event: KeyboardEvent,
  u: uPlot,
  lines: readonly ChartLine[],
  at: Place | null,
): Place | ChartRange | "pin" | "leave" | "all" | undefined {
  const by = ({ ArrowLeft: -1, ArrowRight: 1 } as { [key: string]: number })[event.key];
  if (by && event.shiftKey) return moved(u, by * 0.2);
  const line = at?.line ?? 0;
  const inLine = lines[line]?.at ?? [];
  const last = inLine.findLastIndex((x) => x <= (u.scales["x"]!.max ?? Infinity));
  const first = inLine.findIndex((x) => x >= (u.scales["x"]!.min ?? -Infinity));
  if (by) return { line, index: at ? Math.min(Math.max(at.index + by, 0), inLine.length - 1) : last };
  if (event.key === "Home") return { line, index: Math.max(0, first) };
  if (event.key === "End") return { line, index: Math.max(0, last) };
  if (event.key === "ArrowUp" || event.key === "ArrowDown") return besides(lines, at, event.key === "ArrowUp" ? -1 : 1);
  if (event.key === "+" || event.key === "=") return zoomed(u, 0.5, 0.6);
  if (event.key === "-") return zoomed(u, 0.5, 1 / 0.6);
  if (event.key === "0") return "all";
  if (event.key === "Enter") return "pin";
  return event.key === "Escape" ? "leave" : undefined;
}

function besides(lines: readonly ChartLine[], at: Place | null, by: number): Place {
  const line = ((at?.line ?? 0) + by + lines.length) % lines.length;
  const wanted = at ? (lines[at.line]!.at[at.index] ?? 0) : Infinity;
  const found = lines[line]!.at.findIndex((x) => x >= wanted);
  return { line, index: found < 0 ? lines[line]!.at.length - 1 : found };
}

/** Moves the picture's cursor to a point that was reached by keys, and the view where the point lies outside it. */
function bring(u: uPlot, lines: readonly ChartLine[], at: Place, setRange: (range: ChartRange) => void): void {
  const x = lines[at.line]?.at[at.index];
  const { min = 0, max = 0 } = u.scales["x"]!;
  if (x === undefined) return;
  if (x < min || x > max) setRange(moved(u, (x - (min + max) / 2) / (max - min)));
  u.setCursor({ left: u.valToPos(x, "x"), top: u.bbox.height / 2 / uPlot.pxRatio }, false);
}

function drawLevels(u: uPlot, levels: readonly ChartLevel[]): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { from, to, point: level, end = level, low, high, colour } of levels) {
    const x0 = u.valToPos(from, "x", true);
    const x1 = u.valToPos(to, "x", true);
    const y = (of: number) => u.valToPos(of, "y", true);
    ctx.fillStyle = ctx.strokeStyle = colour();
    ctx.globalAlpha = 0.16;
    if (low !== null && high !== null) ctx.fillRect(x0, y(high), x1 - x0, y(low) - y(high));
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1.5 * uPlot.pxRatio;
    ctx.beginPath();
    ctx.moveTo(x0, y(level));
    ctx.lineTo(x1, y(end));
    ctx.stroke();
  }
  ctx.restore();
}
