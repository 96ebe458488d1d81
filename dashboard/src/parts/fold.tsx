// A section that a phone folds behind its heading; on a desk it is a plain section.
//   <Fold id="suites" title="Suites and machines" count={suites.length} aside={<a href="...">All</a>}>...</Fold>
//   `open` unfolds it at first. What a visitor opened or closed is remembered in this browser, page by page.
//   useNarrow() says whether this is a phone · useRemembered("key", false) keeps a yes or no

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { parse } from "../route";
import { whole } from "./format";
import "./fold.css";

const NARROW = "(max-width: 640px)"; // as in the style sheets
const KEPT = "benchwright-folds";

interface FoldProps {
  id: string;
  title: string;
  count?: number;
  open?: boolean;
  aside?: ComponentChildren;
  panel?: boolean;
  children: ComponentChildren;
}

export function Fold({ id, title, count, open = false, aside, panel = false, children }: FoldProps) {
  const narrow = useNarrow();
  const [unfolded, setUnfolded] = useRemembered(`${parse(location.hash).page} ${id}`, open);
  const look = panel ? "section panel" : "section";
  if (!narrow)
    return (
      <section class={look} aria-labelledby={id}>
        <div class="row">
          <h2 id={id}>{title}</h2>
          {aside}
        </div>
        {children}
      </section>
    );
  return (
    <section class={`${look} fold`} aria-labelledby={id}>
      <h2 id={id}>
        <button type="button" class="plain fold-head" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
          <span class="fold-sign" aria-hidden="true" />
          {title} {count !== undefined && <span class="soft fold-count">{whole(count)}</span>}
        </button>
      </h2>
      {unfolded && (
        <>
          {aside && <p class="row">{aside}</p>}
          {children}
        </>
      )}
    </section>
  );
}

/** Whether the page is as narrow as a phone's, now and when that changes. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const follow = () => setNarrow(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  return narrow;
}

/** A yes or no that this browser remembers. */
export function useRemembered(key: string, usual: boolean): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(() => kept()[key] ?? usual);
  const set = (now: boolean) => {
    setValue(now);
    try {
      localStorage.setItem(KEPT, JSON.stringify({ ...kept(), [key]: now }));
    } catch {
      // a browser that keeps nothing still folds
    }
  };
  return [value, set];
}

function kept(): { [key: string]: boolean } {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    return found !== null && typeof found === "object" ? (found as { [key: string]: boolean }) : {};
  } catch {
    return {};
  }
}
