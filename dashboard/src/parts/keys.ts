// Keyboard shortcuts. A page announces its own while it is shown, and the help (`?`) lists them:
//   useKeys([{ keys: "j", does: "Next finding", run: next }, { keys: "g o", does: "Overview", run: () => ... }])
// One key, or two after each other; without `run` it is only listed, as something else hears it.
// Never while somebody types, never together with Ctrl, Alt or Meta.

import { useLayoutEffect, useRef } from "preact/hooks";

export interface KeyBinding {
  keys: string;
  does: string;
  run?: (event: KeyboardEvent) => void;
}

const PATIENCE = 1500; // milliseconds between two keys that belong together
const bound = new Set<{ current: readonly KeyBinding[] }>();
let first = "";
let firstAt = 0;

export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  // keys work as soon as the page is seen
  useLayoutEffect(() => {
    bound.add(latest);
    return () => void bound.delete(latest);
  }, []);
}

/** Everything that can be pressed now, the frame's first; of equal keys the last. */
export function allKeys(): KeyBinding[] {
  return [...new Map([...bound].flatMap((one) => one.current).map((one) => [one.keys, one])).values()];
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const after = Date.now() - firstAt < PATIENCE ? first : "";
    const known = allKeys().filter((one) => one.run);
    const named = (keys: string) => known.findLast((one) => one.keys === keys);
    const found = (after ? named(`${after} ${event.key}`) : undefined) ?? named(event.key);
    first = found ? "" : event.key;
    firstAt = Date.now();
    if (!found) return;
    event.preventDefault();
    found.run!(event);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !isTick(target)))
  );
}

function isTick(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && (target.type === "checkbox" || target.type === "radio");
}
