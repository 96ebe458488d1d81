// Light or dark: what the visitor chose, or else what the system prefers. Charts hear of it through `onTheme`.

import { useState } from "preact/hooks";

export type Choice = "light" | "dark" | "system";

const KEPT = "benchwright-theme";
const CHANGED = "benchwright-theme";
const dark = () => matchMedia("(prefers-color-scheme: dark)");

/** Applies what was chosen, now and whenever the system changes its mind. */
export function startTheme(): void {
  dark().addEventListener("change", apply);
  apply();
}

/** The present choice, and how to make another. */
export function useTheme(): [Choice, (choice: Choice) => void] {
  const [choice, setChoice] = useState(chosen);
  const choose = (next: Choice) => {
    try {
      if (next === "system") localStorage.removeItem(KEPT);
      else localStorage.setItem(KEPT, next);
    } catch {
      // a browser that keeps nothing still shows it
    }
    apply(next);
    setChoice(next);
  };
  return [choice, choose];
}

/** Calls back after every change of colours until the returned function is called. */
export function onTheme(follow: () => void): () => void {
  addEventListener(CHANGED, follow);
  return () => removeEventListener(CHANGED, follow);
}

/** A colour of tokens.css by its name, for what is drawn on a canvas: colour("c0"). */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function chosen(): Choice {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

function apply(now?: unknown): void {
  const choice = typeof now === "string" ? now : chosen();
  document.documentElement.dataset["theme"] = choice === "system" ? (dark().matches ? "dark" : "light") : choice;
  dispatchEvent(new Event(CHANGED));
}
