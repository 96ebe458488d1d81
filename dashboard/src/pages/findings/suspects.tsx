// The commits that may be behind a finding, each with how probable that is.

import { isThere } from "../../api";
import { change, changeInterval, count, probability, revisionShort } from "../../parts/format";
import { CopyButton } from "../../parts/copy";
import { href } from "../../route";
import type { FindingView, Suspect } from "../../shapes";
import { suspectsAt } from "./picture";

const FEW = 8;

export function Suspects({ view }: { view: FindingView }) {
  const commits = Math.max(0, view.revisions.length - 1);
  if (!commits && !view.suspects.length) return null;
  const measured = view.view ? suspectsAt(view, view.view).map(({ suspect }) => suspect.revision) : [];
  const rest = 1 - view.suspects.reduce((sum, one) => sum + one.probability, 0);
  return (
    <section class="section panel" aria-labelledby="culprit">
      <div class="row">
        <h2 id="culprit">Culprit</h2>
        {commits > 0 && (
          <span class="soft">
            {count(commits, "commit")} after <code>{revisionShort(view.revisions[0]!)}</code> up to{" "}
            <code>{revisionShort(view.revisions.at(-1)!)}</code>
          </span>
        )}
      </div>
      <ol class="suspects">
        {view.suspects.slice(0, FEW).map((suspect) => (
          <Line
            key={suspect.revision}
            suspect={suspect}
            unit={view.line.unit}
            number={measured.indexOf(suspect.revision) + 1}
          />
        ))}
        {view.suspects.length > 0 && rest > 0.005 && (
          <li class="suspect">
            <Bar of={rest} />
            <span class="suspect-share soft">{probability(rest)}</span>
            <span class="soft">another one</span>
          </li>
        )}
      </ol>
      {!view.suspects.length && <p class="soft">No commit is more suspicious than the others.</p>}
    </section>
  );
}

function Line({ suspect, unit, number }: { suspect: Suspect; unit: string; number: number }) {
  const { revision, subject, author, effect } = suspect;
  const side = `revision:${revision}`;
  return (
    <li class="suspect" {...(number ? { id: `note--${number}`, tabIndex: -1 } : {})}>
      <Bar of={suspect.probability} />
      <strong class="suspect-share">{probability(suspect.probability)}</strong>
      <span class="suspect-what">
        {number > 0 && (
          <b class="mark-number" title="Its number on the chart">
            {number}
          </b>
        )}{" "}
        {subject || "Commit"} <span class="soft">{author}</span>
        {effect && (
          <span class="soft">
            {" "}
            · against its parent {change(effect.point, unit)} {changeInterval(effect)}
          </span>
        )}
      </span>
      <span class="row suspect-revision">
        {isThere("runs", { revision }) ? (
          <a href={href("runs", [], { revision })}>
            <code title={side}>{revisionShort(revision)}</code>
          </a>
        ) : (
          <code>{revisionShort(revision)}</code>
        )}
        <CopyButton text={revision} about={`commit ${revisionShort(revision)}`} />
      </span>
    </li>
  );
}

/** How probable, as a length. The figure stands beside it. */
function Bar({ of }: { of: number }) {
  return (
    <svg class="suspect-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="suspect-room" width="100" height="10" />
      <rect class="suspect-part" width={Math.max(0.5, Math.min(100, 100 * of))} height="10" />
    </svg>
  );
}
