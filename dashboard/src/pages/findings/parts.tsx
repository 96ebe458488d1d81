// How much each part of a drift carries, where the noise lets that be told.

import { isThere } from "../../api";
import { Effect } from "../../parts/badges";
import { count, revisionShort } from "../../parts/format";
import { href } from "../../route";
import type { Drift, FindingView, Part } from "../../shapes";

export function Parts({ view, drift }: { view: FindingView; drift: Drift }) {
  const commits = Math.max(0, view.revisions.length - 1);
  return (
    <section class="section panel" aria-labelledby="parts">
      <div class="row">
        <h2 id="parts">How much each part carries</h2>
        {commits > 0 && (
          <span class="soft">
            {count(commits, "commit")} after <code>{revisionShort(view.revisions[0]!)}</code> up to{" "}
            <code>{revisionShort(view.revisions.at(-1)!)}</code>
          </span>
        )}
      </div>
      <p class="soft">
        It begins between run <Run id={drift.earliest || drift.first} /> and run{" "}
        <Run id={drift.latest || drift.first} />. No single commit is the culprit.
      </p>
      <ol class="suspects">
        {drift.parts.map((part) => (
          <Line key={part.runs.join()} part={part} view={view} />
        ))}
      </ol>
      {!drift.parts.length && (
        <p class="soft">Because of the noise, it is not known how much each part of it carries.</p>
      )}
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
            {part.commits ? count(part.commits, "commit") : "commits"} after <code>{revisionShort(first)}</code> up to{" "}
            <code>{revisionShort(last)}</code>
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
