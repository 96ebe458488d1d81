// What runs are told by: <RevisionText revision={run.revision} linked /> · <Tags tags={run.tags} /> · caseNames(run.cases)

import { href } from "../route";
import type { Revision } from "../shapes";
import { revisionShort } from "./format";
import "./runcells.css";

const NAMED = 3; // cases

/** A commit with its subject; `linked` leads to the runs of it. */
export function RevisionText({ revision, linked = false }: { revision: Revision | null; linked?: boolean }) {
  if (!revision) return null;
  const short = <code>{revisionShort(revision.id)}</code>;
  return (
    <span class="revision" title={`${revision.id} ${revision.subject}`}>
      {linked ? <a href={href("runs", [], { revision: revision.id })}>{short}</a> : short}{" "}
      {revision.dirty && <span class="unclear">with local changes </span>}
      <span class="soft">{revision.subject}</span>
    </span>
  );
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

export function caseNames(cases: readonly string[]): string {
  const more = cases.length - NAMED;
  return cases.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
