// What several lists show of a finding: what changed, and which commit may be behind it.

import type { Query } from "../../api";
import { DriftBadge, VerdictBadge } from "../../parts/badges";
import { CommitLink, RequestLink } from "../../parts/codelinks";
import { paramsText, probability } from "../../parts/format";
import type { FindingLine } from "../../shapes";
import { linkTo } from "./chosen";

/** What a finding is called where it is selected. */
export function findingLabel(one: FindingLine): string {
  return `${one.case} ${one.metric} on ${one.machine_name}`;
}

export function What({ one, query, entry = one.id }: { one: FindingLine; query: Query; entry?: string }) {
  return (
    <span class="finding-what">
      <span class="row">
        <VerdictBadge verdict={one.verdict} />
        {one.drift && <DriftBadge />}
        <a href={linkTo(one.id, query)} data-finding={entry}>
          {one.case}
        </a>
      </span>
      <span class="soft small">
        {one.metric} {paramsText(one.params)}
      </span>
    </span>
  );
}

export function Culprit({
  one: { culprit, drift, repository },
}: {
  one: Pick<FindingLine, "culprit" | "drift" | "repository">;
}) {
  if (drift) return <span class="soft small">no single commit</span>;
  if (!culprit) return null;
  return (
    <span class="finding-culprit small">
      {culprit.subject || "Commit"} <CommitLink id={culprit.revision} repository={repository} />{" "}
      <RequestLink pullRequest={culprit.pull_request} subject={culprit.subject} repository={repository} />{" "}
      <span class="soft nowrap">{probability(culprit.probability)}</span>
    </span>
  );
}
