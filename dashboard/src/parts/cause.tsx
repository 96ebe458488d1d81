// What findings of one commit are in all. One finding alone is shown as itself.
//   <CauseCard cause={line} />  a card of the overview · <CauseName cause={line} /> what it is called
//   <CauseSize cause={line} />  "12 series of 4 cases, 2 metrics" · <CauseEffect cause={line} /> the largest and the median change
//   <Commit suspect={line.culprit} repository={line.lead.repository} />  a commit with its author · causeHref(line) where it is shown in full

import type { ComponentChildren } from "preact";
import type { Query } from "../api";
import { href } from "../route";
import type { CauseLine, FindingLine, Suspect } from "../shapes";
import { Effect, Tally } from "./badges";
import "./cause.css";
import { AuthorLink, CommitLink, RequestLink } from "./codelinks";
import {
  ago,
  change,
  changeUnit,
  count,
  date,
  estimate,
  paramsText,
  percent,
  POINTS,
  probability,
  revisionShort,
} from "./format";
import { ChangeSpark } from "./spark";

/** Where a cause is shown in full: its own page, or that of its only finding. */
export function causeHref(cause: CauseLine, query: Query = {}): string {
  return href("findings", [causeEntry(cause)], query);
}

/** The id behind which a cause is shown in full. */
export function causeEntry({ id, findings, lead }: CauseLine): string {
  return findings > 1 ? id : lead.id;
}

/** What a cause is called: its commit, or where no suspected commit, the run that it began at. */
export function causeName({ findings, lead, culprit }: CauseLine): string {
  if (findings === 1) return lead.case;
  if (lead.drift) return `Drift since run ${lead.run}`;
  if (!culprit) return `Change at run ${lead.run}`;
  return culprit.subject || `Commit ${revisionShort(culprit.revision)}`;
}

export function CauseCard({ cause, children }: { cause: CauseLine; children?: ComponentChildren }) {
  const { lead, culprit } = cause;
  const machines = Object.values(cause.machines);
  return (
    <li class={`card ${cause.worse ? "" : "better-card"}`}>
      <h3>
        <a href={causeHref(cause)}>{causeName(cause)}</a>
      </h3>
      <p class="soft small">
        <CauseSize cause={cause} />
      </p>
      <ChangeSpark of={lead} wide />
      <p class="row tight">
        <CauseEffect cause={cause} />
        <span class="soft small push clip">
          {cause.findings > 1 ? lead.case : `${estimate(lead.before, lead.unit)} → ${estimate(lead.after, lead.unit)}`}
        </span>
      </p>
      <p class="small culprit">
        {culprit ? (
          <Commit suspect={culprit} repository={lead.repository} short={cause.findings > 1} />
        ) : (
          <span class="soft">no suspected commit</span>
        )}
      </p>
      {children}
      <p class="soft small row tight">
        <span class="clip" title={machines.join("\n")}>
          {machines.length > 1 ? count(machines.length, "machine") : machines[0]}
        </span>
        <span class="push nowrap" title={date(cause.newest_at)}>
          {ago(cause.newest_at)}
        </span>
      </p>
    </li>
  );
}

/** "12 series of 4 cases, 2 metrics"; of one finding its metric and params. */
export function CauseSize({ cause }: { cause: CauseLine }) {
  const { lead, series, cases, metrics, better, worse } = cause;
  if (cause.findings === 1) return <>{[lead.metric, paramsText(lead.params)].filter(Boolean).join(" · ")}</>;
  return (
    <>
      {count(series, "series", "series")} of {count(cases, "case")},{" "}
      {metrics.length > 1 ? <span title={metrics.join("\n")}>{count(metrics.length, "metric")}</span> : metrics[0]}
      {worse > 0 && better > 0 && (
        <>
          {": "}
          <Tally of={worse} kind="worse" /> worse, <Tally of={better} kind="better" /> better
        </>
      )}
    </>
  );
}

/** The largest change, and the median one of the same verdict where there are several. */
export function CauseEffect({ cause, interval = false }: { cause: CauseLine; interval?: boolean }) {
  const { lead, findings, median, metrics } = cause;
  if (findings === 1)
    return <Effect effect={lead.effect} unit={changeUnit(lead)} verdict={lead.verdict} interval={interval} />;
  const size = Math.abs((lead.effect.point < 1 ? 1 / median : median) - 1);
  const isPoints = changeUnit(lead) === POINTS;
  return (
    <span class="cause-effect">
      <span>
        <span class="soft small">{isPoints && metrics.length > 1 ? `${lead.metric} up to` : "up to"}</span>{" "}
        <Effect effect={lead.effect} unit={changeUnit(lead)} verdict={lead.verdict} />
      </span>
      <span class="soft small nowrap">
        median {isPoints ? `${change(1 + size, POINTS).split(" ")[0]} points` : percent(size)}
      </span>
    </span>
  );
}

interface CommitProps {
  suspect: Suspect;
  repository: FindingLine["repository"];
  short?: boolean;
}

/** A commit that may be behind a change, with its author and how probable that is; `short` where its subject stands. */
export function Commit({ suspect, repository, short = false }: CommitProps) {
  return (
    <span class="commit">
      <CommitLink id={suspect.revision} repository={repository} />{" "}
      {!short && <span class="clip">{suspect.subject}</span>}{" "}
      <RequestLink pullRequest={suspect.pull_request} subject={suspect.subject} repository={repository} />{" "}
      {suspect.author && (
        <span class="soft nowrap">
          <AuthorLink author={suspect.author} repository={repository} />
        </span>
      )}
      <span class="soft push nowrap">{probability(suspect.probability)} sure</span>
    </span>
  );
}
