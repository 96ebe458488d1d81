// What is read at a point: beside the cursor, and aloud.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { date, interval, value } from "../format";
import { scaleOf, type ChartLine, type Place } from "./data";

interface TipProps {
  plot: uPlot;
  lines: readonly ChartLine[];
  at: Place;
  pinned: boolean;
  close: () => void;
  children: ComponentChildren;
}

export function TipBox({ plot, lines, at, pinned, close, children }: TipProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const line = lines[at.line];
    const tip = box.current;
    if (!line || !tip) return;
    const { over } = plot;
    const x = plot.valToPos(line.at[at.index] ?? 0, "x");
    const y = plot.valToPos(line.point[at.index] ?? 0, scaleOf(line));
    const aside =
      x + 16 + tip.offsetWidth > over.clientWidth ? Math.max(-over.offsetLeft, x - 16 - tip.offsetWidth) : x + 16;
    tip.style.left = `${over.offsetLeft + aside}px`;
    tip.style.top = `${over.offsetTop + Math.max(0, Math.min(y - 20, over.clientHeight - tip.offsetHeight))}px`;
  });
  const leave = (event: KeyboardEvent) => event.key === "Escape" && close();
  return (
    <div ref={box} class={pinned ? "chart-tip pinned" : "chart-tip"} role="status" onKeyDown={leave}>
      {children}
      {pinned && (
        <button type="button" class="plain close" onClick={close} aria-label="Close">
          ×
        </button>
      )}
    </div>
  );
}

/** A point in words: its line, value, interval and instant. */
export function reading(line: ChartLine, index: number, xUnit = ""): ComponentChildren {
  const at = line.at[index] ?? 0;
  return (
    <>
      <strong>{value(line.point[index], line.unit, 4)}</strong> <span class="soft">{within(line, index)}</span>
      <div>{line.label}</div>
      <div class="soft">{xUnit === "" ? date(at) : value(at, xUnit)}</div>
    </>
  );
}

/** The interval of a point, where it has one: "[18.1, 18.6]". */
export function within(line: ChartLine, index: number): string {
  return interval(
    { point: line.point[index] ?? 0, low: line.low?.[index] ?? null, high: line.high?.[index] ?? null },
    line.unit,
    4,
  );
}
