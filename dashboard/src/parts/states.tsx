// What a page shows when there is nothing to show.
//   <Answered answer={useData<T>(...)}>{(data) => ...}</Answered>  waits, complains, or shows; old data stays while new comes
//   <Waiting /> · <Problem error="..." retry={...} /> · <Empty title="No runs yet"><p>What to do.</p></Empty>

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer } from "../api";
import "./states.css";

export function Answered<T>(props: { answer: Answer<T>; children: (data: T) => ComponentChildren }) {
  const { answer, children } = props;
  if (answer.error !== undefined)
    return <Problem error={answer.error} {...(answer.retry ? { retry: answer.retry } : {})} />;
  if (answer.data === undefined) return <Waiting />;
  return <>{children(answer.data)}</>;
}

/** Says so only after a moment: what comes at once must not flicker. */
export function Waiting() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="waiting" role="status">
      {late ? "Loading…" : ""}
    </p>
  );
}

export function Problem({ error, retry }: { error: string; retry?: () => void }) {
  return (
    <div class="problem row" role="alert">
      <span>
        <strong>Error:</strong> {error}
      </span>
      {retry && (
        <button type="button" class="push" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}
