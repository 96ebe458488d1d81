// The rows of a long table, in blocks: only those near the screen are drawn, the others keep their room.
// What is printed is drawn whole, and so is what the browser's own search is opened for (Ctrl+F).

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export const LONG = 150; // rows: a shorter table is drawn whole
const BLOCK = 50; // rows
const NEAR = "1000px 0px"; // beyond the screen
const ROW = 37; // pixels, until one was seen

/** `draw(i)` gives the row at place i. */
export function Blocks({
  count,
  columns,
  draw,
}: {
  count: number;
  columns: number;
  draw: (place: number) => ComponentChildren;
}) {
  const height = useRef(ROW);
  const whole = useDrawnWhole();
  const starts = Array.from({ length: Math.ceil(count / BLOCK) }, (_, i) => i * BLOCK);
  return (
    <>
      {starts.map((start) => (
        <Block
          key={start}
          start={start}
          end={Math.min(start + BLOCK, count)}
          columns={columns}
          draw={draw}
          whole={whole}
          height={height}
        />
      ))}
    </>
  );
}

function Block({
  start,
  end,
  columns,
  draw,
  whole,
  height,
}: {
  start: number;
  end: number;
  columns: number;
  draw: (place: number) => ComponentChildren;
  whole: boolean;
  height: { current: number };
}) {
  const place = useRef<HTMLTableSectionElement>(null);
  const own = useRef(0);
  const [near, setNear] = useState(start === 0);
  const drawn = near || whole;
  useEffect(() => {
    const body = place.current!;
    const watch = new IntersectionObserver(
      (entries) => {
        const isNear = entries.at(-1)!.isIntersecting;
        // Who is in it with the keyboard stays there.
        if (isNear || !body.contains(document.activeElement)) setNear(isNear);
      },
      { rootMargin: NEAR },
    );
    watch.observe(body);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!drawn || !place.current) return;
    own.current = place.current.offsetHeight;
    height.current = own.current / (end - start);
  });
  return (
    <tbody ref={place}>
      {drawn ? (
        Array.from({ length: end - start }, (_, i) => draw(start + i))
      ) : (
        <tr class="not-drawn" aria-hidden="true">
          <td colSpan={columns} style={{ height: `${own.current || height.current * (end - start)}px` }} />
        </tr>
      )}
    </tbody>
  );
}

/** Whether everything is to be drawn: for a printer, or for the browser's own search. */
function useDrawnWhole(): boolean {
  const [printing, setPrinting] = useState(false);
  const [searching, setSearching] = useState(false);
  useEffect(() => {
    const before = () => setPrinting(true);
    const after = () => setPrinting(false);
    const key = (event: KeyboardEvent) => {
      const isSearch = event.key === "F3" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f");
      if (isSearch) setSearching(true);
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    addEventListener("keydown", key);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      removeEventListener("keydown", key);
    };
  }, []);
  return printing || searching;
}
