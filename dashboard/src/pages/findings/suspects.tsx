// The commits that may be behind a finding, each with how probable that is.

import { isThere } from "../../api";
import { change, changeInterval, changeUnit, count, probability, revisionShort } from "../../parts/format";
import { AuthorLink, CommitLink, RangeLink, RequestLink } from "../../parts/codelinks";
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
            {count(commits, "commit")}{" "}
            <RangeLink base={view.revisions[0]!} head={view.revisions.at(-1)!} repository={view.line.repository} />
          </span>
        )}
      </div>
      <ol class="suspects">
        {view.suspects.slice(0, FEW).map((suspect) => (
          <Line
            key={suspect.revision}
            suspect={suspect}
            unit={changeUnit(view.line)}
            repository={view.line.repository}
            number={measured.indexOf(suspect.revision) + 1}
          />
        ))}
        {view.suspects.length > 0 && rest > 0.005 && (
          <li class="suspect">
            <Bar of={rest} />
            <span class="suspect-share soft">{probability(rest)}</span>
            <span class="soft">another commit</span>
          </li>
        )}
      </ol>
      {!view.suspects.length && <p class="soft">No commit stands out.</p>}
    </section>
  );
}

interface LineProps {
  suspect: Suspect;
  unit: string;
  repository: string;
  number: number;
}

function Line({ suspect, unit, repository, number }: LineProps) {
  const { revision, subject, author, effect, pull_request: pullRequest } = suspect;
  const side = `revision:${revision}`;
  return (
    <li class="suspect" {...(number ? { id: `note--${number}`, tabIndex: -1 } : {})}>
      <Bar of={suspect.probability} />
      <strong class="suspect-share">{probability(suspect.probability)}</strong>
      <span class="suspect-what">
        {number > 0 && (
          <b class="mark-number" title="Number on the chart">
            {number}
          </b>
        )}{" "}
        {subject || "Commit"} <RequestLink pullRequest={pullRequest} subject={subject} repository={repository} />{" "}
        <span class="soft">
          <AuthorLink author={author} repository={repository} />
        </span>
        {effect && (
          <span class="soft">
            {" "}
            · against its parent {change(effect.point, unit)} {changeInterval(effect, unit)}
          </span>
        )}
      </span>
      <span class="row suspect-revision">
        <CommitLink id={revision} repository={repository} />
        {isThere("runs", { revision }) && (
          <a href={href("runs", [], { revision })} title={side}>
            Runs
          </a>
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
