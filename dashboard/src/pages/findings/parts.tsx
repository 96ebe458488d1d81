// How much each part of a drift carries, where the noise lets that be told.

import { isThere } from "../../api";
import { Effect } from "../../parts/badges";
import { RangeLink } from "../../parts/codelinks";
import { count } from "../../parts/format";
import { href } from "../../route";
import type { Drift, FindingView, Part } from "../../shapes";

export function Parts({ view, drift }: { view: FindingView; drift: Drift }) {
  const commits = Math.max(0, view.revisions.length - 1);
  return (
    <section class="section panel" aria-labelledby="parts">
      <div class="row">
        <h2 id="parts">Contribution of each part</h2>
        {commits > 0 && (
          <span class="soft">
            {count(commits, "commit")}{" "}
            <RangeLink base={view.revisions[0]!} head={view.revisions.at(-1)!} repository={view.line.repository} />
          </span>
        )}
      </div>
      <p class="soft">
        The drift begins between run <Run id={drift.earliest || drift.first} /> and run{" "}
        <Run id={drift.latest || drift.first} />. No single commit is the culprit.
      </p>
      <ol class="suspects">
        {drift.parts.map((part) => (
          <Line key={part.runs.join()} part={part} view={view} />
        ))}
      </ol>
      {!drift.parts.length && <p class="soft">The noise is too high to tell how much each part contributes.</p>}
    </section>
  );
}

function Line({ part, view: { line } }: { part: Part; view: FindingView }) {
  const [first, last] = part.revisions;
  return (
    <li class="drift-part">
      <Effect effect={part.effect} unit={line.unit} verdict={line.verdict} interval />
      <span class="soft">
        {first && last ? (
          <>
            {part.commits ? count(part.commits, "commit") : "commits"}{" "}
            <RangeLink base={first} head={last} repository={line.repository} />
          </>
        ) : (
          <>
            runs after {part.runs[0]} up to {part.runs.at(-1)}
          </>
        )}
      </span>
    </li>
  );
}

function Run({ id }: { id: string }) {
  return isThere(`runs/${id}`) ? <a href={href("runs", [id])}>{id}</a> : id;
}
