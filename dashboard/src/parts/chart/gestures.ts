// Wheel, drag and fingers. A drag selects (uPlot does that); with Shift, the middle button or a finger it pans.
// The wheel zooms once the chart has been clicked or focused, or with Ctrl: a page that scrolls by must not be caught.

import type uPlot from "uplot";
import type { ChartRange } from "./data";

const SETTLED = 160; // milliseconds after which a moving view is told to the page
const DEEPEST = 1e-6; // of the whole: no further in

/** Listens until the returned function is called; `tell` hears of a range when the view has come to rest. */
export function gestures(u: uPlot, tell: (range: ChartRange | null) => void): () => void {
  const { over } = u;
  const fingers = new Map<number, number>();
  let timer = 0;
  const show = (range: ChartRange) => {
    u.setScale("x", { min: range[0], max: range[1] });
    clearTimeout(timer);
    timer = window.setTimeout(() => tell(isWhole(u, range) ? null : range), SETTLED);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && !over.closest(".chart-room")?.matches(":focus, :focus-within")) return;
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const by = sideways ? event.deltaX || event.deltaY : event.deltaY;
    const where = (event.clientX - over.getBoundingClientRect().left) / over.clientWidth;
    show(sideways ? moved(u, by / over.clientWidth) : zoomed(u, where, Math.exp(by * 0.0016)));
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType === "mouse" && !event.shiftKey && event.button !== 1) return;
    if (event.pointerType === "mouse") event.preventDefault();
    fingers.set(event.pointerId, event.clientX);
    if (event.pointerType === "mouse") over.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const before = fingers.get(event.pointerId);
    if (before === undefined || before === event.clientX) return;
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, event.clientX);
    if (other === undefined) return show(moved(u, (before - event.clientX) / over.clientWidth));
    const middle = ((other + event.clientX) / 2 - over.getBoundingClientRect().left) / over.clientWidth;
    show(zoomed(u, middle, Math.abs(before - other) / Math.max(8, Math.abs(event.clientX - other))));
  };
  const up = (event: PointerEvent) => void fingers.delete(event.pointerId);
  const reset = () => tell(null);
  over.addEventListener("wheel", wheel, { passive: false });
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", up);
  over.addEventListener("dblclick", reset);
  return () => clearTimeout(timer); // the listeners go with the element
}

/** The range after zooming by `factor` around a place (0: left end, 1: right end); never beyond the data. */
export function zoomed(u: uPlot, where: number, factor: number): ChartRange {
  const [min, max] = inView(u);
  const [first, last] = whole(u);
  const span = Math.max((max - min) * factor, (last - first) * DEEPEST);
  const centre = min + (max - min) * where;
  return held(u, centre - span * where, span);
}

/** The range after moving by a share of what is in view. */
export function moved(u: uPlot, by: number): ChartRange {
  const [min, max] = inView(u);
  return held(u, min + (max - min) * by, max - min);
}

function held(u: uPlot, from: number, span: number): ChartRange {
  const [first, last] = whole(u);
  if (span >= last - first) return [first, last];
  const start = Math.min(Math.max(from, first), last - span);
  return [start, start + span];
}

function isWhole(u: uPlot, range: ChartRange): boolean {
  const [first, last] = whole(u);
  return range[0] <= first && range[1] >= last;
}

function inView(u: uPlot): ChartRange {
  return [u.scales["x"]!.min ?? 0, u.scales["x"]!.max ?? 1];
}

function whole(u: uPlot): ChartRange {
  return [u.data[0][0] ?? 0, u.data[0].at(-1) ?? 1];
}
