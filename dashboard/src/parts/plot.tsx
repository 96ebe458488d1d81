// A small drawing with two axes, for what is not a history: distributions, calls over time, rounds.
//   <Plot label="..." x={scale(...)} y={scale(...)} writeX={format} writeY={format} read={(x) => "words"}>
//     {(px, py) => <path d=... />}       px and py turn values into pixels
//   </Plot>
// It is as wide as its place. A pointer, or the arrow keys once it has the focus, move a line; `read` says in words what
// lies there, and those words are what a screen reader hears.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Scale } from "./scale";
import "./plot.css";

export type Pixels = (value: number) => number;

interface Props {
  label: string;
  x: Scale;
  y: Scale;
  writeX: (value: number) => string;
  writeY?: (value: number) => string;
  read?: (x: number) => string;
  height?: number;
  children: (px: Pixels, py: Pixels) => ComponentChildren;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const STEPS = 60; // of the arrow keys from end to end

export function Plot({ label, x, y, writeX, writeY, read, height = 200, children }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const [cursor, setCursor] = useState<number | null>(null);
  const box = { left: writeY ? 58 : 8, right: width - 14, top: 8, bottom: height - 26 };
  const px = (value: number) => box.left + x.place(value) * (box.right - box.left);
  const py = (value: number) => box.bottom - y.place(value) * (box.bottom - box.top);
  const follow = (event: PointerEvent) => {
    const from = (event.currentTarget as Element).getBoundingClientRect().left;
    const at = (event.clientX - from - box.left) / (box.right - box.left);
    setCursor(at >= 0 && at <= 1 ? at : null);
  };
  const step = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") setCursor(null);
    if (!by) return;
    event.preventDefault();
    setCursor((now) => Math.min(1, Math.max(0, (now ?? 0.5) + by / STEPS)));
  };
  const words = cursor !== null && read ? read(x.value(cursor)) : "";
  return (
    <div class="plot" ref={place}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={label}
        tabindex={read ? 0 : -1}
        onPointerMove={follow}
        onPointerLeave={() => setCursor(null)}
        onKeyDown={step}
      >
        <Axes x={x} y={y} px={px} py={py} box={box} writeX={writeX} writeY={writeY} />
        {children(px, py)}
        {words && (
          <line class="plot-cursor" x1={px(x.value(cursor!))} x2={px(x.value(cursor!))} y1={box.top} y2={box.bottom} />
        )}
      </svg>
      {read && (
        <p class="plot-words" aria-live="polite">
          {words || "\u00a0"}
        </p>
      )}
    </div>
  );
}

interface AxesProps {
  x: Scale;
  y: Scale;
  px: Pixels;
  py: Pixels;
  box: Box;
  writeX: (value: number) => string;
  writeY: ((value: number) => string) | undefined;
}

function Axes({ x, y, px, py, box, writeX, writeY }: AxesProps) {
  const shown = spaced(x.ticks, px, writeX);
  return (
    <g class="plot-axes" aria-hidden="true">
      {y.ticks.map((tick) => (
        <line key={tick} x1={box.left} x2={box.right} y1={py(tick)} y2={py(tick)} />
      ))}
      {writeY &&
        y.ticks.map((tick) => (
          <text key={tick} x={box.left - 6} y={py(tick) + 4} text-anchor="end">
            {writeY(tick)}
          </text>
        ))}
      <line class="plot-ground" x1={box.left} x2={box.right} y1={box.bottom} y2={box.bottom} />
      {shown.map((tick) => (
        <g key={tick}>
          <line class="plot-ground" x1={px(tick)} x2={px(tick)} y1={box.bottom} y2={box.bottom + 4} />
          <text x={px(tick)} y={box.bottom + 17} text-anchor="middle">
            {writeX(tick)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** The ticks whose words do not run into each other. */
export function spaced(ticks: number[], px: Pixels, write: (value: number) => string): number[] {
  let free = -Infinity;
  return ticks.filter((tick) => {
    const half = write(tick).length * 3.6 + 4;
    if (px(tick) - half < free) return false;
    free = px(tick) + half;
    return true;
  });
}

/** The width of an element in pixels, as it is now. */
export function useWidth(place: { current: Element | null }): number {
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(200, Math.floor(entry.contentRect.width))),
    );
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width;
}
