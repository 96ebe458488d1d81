// A run that is under way: how far it is, what it does now, and what it measured so far.

import { useEffect, useState } from "preact/hooks";
import { count, duration, paramsText } from "../../parts/format";
import { href } from "../../route";
import type { LiveRun } from "../../shapes";
import { Measured } from "./measured";

export function RunningRun({ run }: { run: LiveRun }) {
  const now = useNow();
  const elapsed = Math.max(0, now - run.started_at) / 1000;
  const left = run.done > 0 && run.planned > run.done ? (elapsed / run.done) * (run.planned - run.done) : null;
  return (
    <article class="panel live-run" aria-labelledby={`run-${run.run}`}>
      <div class="row">
        <h2 id={`run-${run.run}`}>{run.results.length ? <a href={href("runs", [run.run])}>{run.run}</a> : run.run}</h2>
        {run.host && <span class="soft">on {run.host}</span>}
        <span class="soft push">
          {whole(elapsed)} elapsed{left !== null && `, about ${whole(left)} left`}
        </span>
      </div>
      <Progress run={run} />
      <p>
        {run.case && (
          <>
            <strong>{run.case}</strong> <span class="soft">{paramsText(run.params)}</span>{" "}
          </>
        )}
        <span class="nowrap">
          round {run.round + 1}
          {run.phase && `, ${run.phase}`}
        </span>
      </p>
      {run.results.length > 0 && <Measured results={run.results} />}
    </article>
  );
}

function Progress({ run }: { run: LiveRun }) {
  const known = run.planned > 0;
  const words = known ? `${run.done} of ${count(run.planned, "result")}` : count(run.done, "result");
  return (
    <div class="live-progress">
      <progress aria-label={`Progress of run ${run.run}`} {...(known ? { max: run.planned, value: run.done } : {})} />
      <span>
        {words}
        {run.failed > 0 && <span class="worse">, {run.failed} failed</span>}
      </span>
    </div>
  );
}

/** The present instant, once a second. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Whole seconds: digits that change while one reads them help nobody. */
function whole(seconds: number): string {
  return seconds < 60 ? `${Math.round(seconds)} s` : duration(seconds);
}
