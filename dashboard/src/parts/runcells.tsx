// What runs are told by: <RevisionText revision={run.revision} linked /> · <Tags tags={run.tags} /> · caseNames(run)
//   <RunResults run={run} />  how many results it has · <RunCases run={run} /> the names, and whether it was a race

import { href } from "../route";
import type { Revision, RunLine } from "../shapes";
import { commitHref, linksOf } from "./code";
import { Away, CommitLink, RequestLink } from "./codelinks";
import { revisionShort } from "./format";
import "./runcells.css";

const NAMED = 3; // cases

/** A commit with its subject; `linked` leads to the runs of it. */
export function RevisionText({ revision, linked = false }: { revision: Revision | null; linked?: boolean }) {
  if (!revision) return null;
  const short = <code>{revisionShort(revision.id)}</code>;
  return (
    <span class="revision" title={`${revision.id} ${revision.subject}`}>
      {linked ? (
        <>
          <a href={href("runs", [], { revision: revision.id })}>{short}</a> <CodePage revision={revision} />
        </>
      ) : (
        <CommitLink id={revision.id} repository={revision.repository} />
      )}{" "}
      {revision.dirty && <span class="unclear">with local changes </span>}
      <span class="soft">{revision.subject}</span>{" "}
      <RequestLink pullRequest={revision.pull_request} subject={revision.subject} repository={revision.repository} />
    </span>
  );
}

/** Where a short id leads to its runs, the forge has a link of its own. */
function CodePage({ revision }: { revision: Revision }) {
  const links = linksOf(revision.repository);
  const url = commitHref(links, revision.id);
  return url ? <Away url={url}>{links?.forge || "code"}</Away> : null;
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span class="tags">
      {tags.map((tag) => (
        <a key={tag} class="tag" href={href("runs", [], { tag })}>
          {tag}
        </a>
      ))}
    </span>
  );
}

export function caseNames({ cases, case_count }: RunLine): string {
  const more = case_count - NAMED;
  return cases.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** The names of its cases; a race of configurations says so, and leads there. */
export function RunCases({ run }: { run: RunLine }) {
  return (
    <>
      {caseNames(run)}{" "}
      {run.is_race && (
        <a class="tag" href={href("runs", [run.id])} aria-label={`race: ${run.id}`}>
          race
        </a>
      )}
    </>
  );
}

/** How many results a run has: one that was stopped fewer than were planned; and those that are not judged. */
export function RunResults({ run }: { run: RunLine }) {
  return (
    <>
      {run.planned <= run.results ? (
        run.results
      ) : (
        <span class="unclear">
          {run.results} of {run.planned}
        </span>
      )}
      {run.held > 0 && <span class="soft small run-held">{run.held} in quarantine</span>}
    </>
  );
}
