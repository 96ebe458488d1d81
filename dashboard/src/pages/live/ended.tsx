// A run that was under way here a moment ago.

import { useData } from "../../api";
import { StatusBadge } from "../../parts/badges";
import { count } from "../../parts/format";
import { href } from "../../route";
import type { LiveRun, RunView } from "../../shapes";
import { Measured } from "./measured";

export function EndedRun({ run }: { run: LiveRun }) {
  const { data, waiting } = useData<RunView>(`runs/${run.run}`);
  const whole = data && data.line.results >= data.line.planned;
  return (
    <article class="panel live-run" aria-labelledby={`run-${run.run}`}>
      <div class="row">
        <h2 id={`run-${run.run}`}>{data ? <a href={href("runs", [run.run])}>{run.run}</a> : run.run}</h2>
        <span class="push" role="status">
          {data
            ? whole
              ? "Ended"
              : `Ended after ${data.line.results} of ${count(data.line.planned, "result")}`
            : waiting
              ? ""
              : "Ended without results"}
        </span>
      </div>
      {data && (
        <>
          <p class="row">
            <StatusBadge status="ok" count={data.line.results - data.line.failed} />
            {data.line.failed > 0 && <StatusBadge status="failed" count={data.line.failed} />}
            <a href={href("runs", [run.run])}>Open the run</a>
            {data.previous && (
              <a href={href("compare", [], { a: `run:${data.previous}`, b: `run:${run.run}` })}>
                Compare with the previous run
              </a>
            )}
          </p>
          <Measured results={data.cases} />
        </>
      )}
    </article>
  );
}
