// What is being measured now.
//   const { live, lost } = useLive()   as it comes, while a page is shown; `lost` while the server cannot be reached
//   const count = useUnderWay()        how many runs are under way, asked for now and then
//   const ticks = useTick(3000)        counts up while the page is seen, for what is asked for again and again
// Only what is seen asks: a browser has few connections to a server, and a hidden tab must not hold one.

import { useEffect, useState } from "preact/hooks";
import { address, isStatic } from "../api";
import type { Live } from "../shapes";

const AGAIN = 15_000; // milliseconds between two questions
const PATIENCE = [1_000, 2_000, 5_000, 10_000, 30_000]; // after a refusal; a lost connection the browser mends itself
const HEARD = "benchwright-live"; // what a stream brought, for those who only ask now and then

export interface Heard {
  live: Live | null;
  lost: boolean;
}

export function useLive(): Heard {
  const [heard, setHeard] = useState<Heard>({ live: null, lost: false });
  useEffect(() => {
    if (isStatic) return;
    return whileSeen(() =>
      listen(
        (live) => {
          setHeard({ live, lost: false });
          dispatchEvent(new CustomEvent<number>(HEARD, { detail: live.runs.length }));
        },
        () => setHeard((before) => ({ ...before, lost: true })),
      ),
    );
  }, []);
  return heard;
}

export function useUnderWay(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (isStatic) return;
    const hear = (event: Event) => setCount((event as CustomEvent<number>).detail);
    addEventListener(HEARD, hear);
    const stop = whileSeen(() => {
      const ask = () => void look().then((live) => setCount(live?.runs.length ?? 0));
      ask();
      const timer = setInterval(ask, AGAIN);
      return () => clearInterval(timer);
    });
    return () => {
      stop();
      removeEventListener(HEARD, hear);
    };
  }, []);
  return count;
}

/** One look; null where it is refused. Nobody is asked for a token because of it. */
async function look(): Promise<Live | null> {
  try {
    const response = await fetch(address("live", {}), {
      credentials: "same-origin",
      headers: { Accept: "application/json" },
    });
    return response.ok ? ((await response.json()) as Live) : null;
  } catch {
    return null;
  }
}

/** Listens until the returned function is called. */
function listen(hear: (live: Live) => void, lose: () => void): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  let tries = 0;
  const open = () => {
    source = new EventSource(address("live", {}));
    source.addEventListener("live", (event) => {
      tries = 0;
      hear(JSON.parse((event as MessageEvent<string>).data) as Live);
    });
    source.addEventListener("error", () => {
      lose();
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, PATIENCE[Math.min(tries++, PATIENCE.length - 1)]);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** Counts up every so many milliseconds while the page is seen, and when it comes into view again. */
export function useTick(every: number): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    if (isStatic) return;
    let isFirst = true;
    return whileSeen(() => {
      if (!isFirst) setTicks((before) => before + 1);
      isFirst = false;
      const timer = setInterval(() => setTicks((before) => before + 1), every);
      return () => clearInterval(timer);
    });
  }, [every]);
  return ticks;
}

/** Begins whenever the page comes into view and ends whenever it goes out of it, until the returned function is called. */
function whileSeen(begin: () => () => void): () => void {
  let end: (() => void) | null = null;
  const follow = () => {
    if (!document.hidden) end ??= begin();
    else if (end) [end] = [null, end()];
  };
  document.addEventListener("visibilitychange", follow);
  follow();
  return () => {
    document.removeEventListener("visibilitychange", follow);
    end?.();
  };
}
