// Changes that a page makes: one at a time, with what went wrong, and then everything is asked again.

import { useState } from "preact/hooks";

export interface Actions {
  /** Counts up with every change: a page asks again. */
  again: number;
  error: string;
  busy: boolean;
  /** Waits for the change; false when it did not work. */
  act: (work: () => Promise<unknown>) => Promise<boolean>;
}

export function useActions(): Actions {
  const [again, setAgain] = useState(0);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await work();
      setError("");
      return true;
    } catch (problem) {
      setError((problem as Error).message);
      return false;
    } finally {
      setBusy(false);
      setAgain((before) => before + 1);
    }
  };
  return { again, error, busy, act };
}

/** A share from per cent as somebody typed it; null for anything else. */
export function shareOf(typed: string): number | null {
  const text = typed.trim().replace("%", "").replace(",", ".").trim();
  const percent = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(percent) && percent >= 0 ? Number((percent / 100).toPrecision(12)) : null;
}

/** A share in per cent, to be typed over. */
export function percentOf(share: number): string {
  return String(Number((share * 100).toPrecision(10)));
}
