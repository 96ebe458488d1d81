// Links to the code: <CommitLink id repository /> · <RangeLink base head repository /> · <RequestLink> · <AuthorLink> ·
// <Addresses text> · <Away url>

import type { ComponentChildren } from "preact";
import type { CodeLinks } from "../shapes";
import { authorHref, commitHref, linksOf, rangeHref, requestHref, requestOf, safeLink } from "./code";
import { revisionShort } from "./format";
import "./codelinks.css";

interface AwayProps {
  url: string;
  children: ComponentChildren;
  title?: string;
}

/** A link to another site, in a tab of its own; only the words where there is no address. */
export function Away({ url, children, title }: AwayProps) {
  if (!safeLink(url)) return <>{children}</>;
  return (
    <a class="away" href={url} title={title} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** A commit's short id, which leads to the forge. */
export function CommitLink({ id, repository }: { id: string; repository: string }) {
  const links = linksOf(repository);
  return (
    <Away url={commitHref(links, id)} title={`Commit ${revisionShort(id)} on ${placeOf(links)}`}>
      <code>{revisionShort(id)}</code>
    </Away>
  );
}

/** Two commits and what lies between them. */
export function RangeLink({ base, head, repository }: { base: string; head: string; repository: string }) {
  const links = linksOf(repository);
  return (
    <>
      after <CommitLink id={base} repository={repository} /> up to <CommitLink id={head} repository={repository} />
      {rangeHref(links, base, head) && (
        <>
          {" "}
          (
          <Away url={rangeHref(links, base, head)} title={`The changes between both on ${placeOf(links)}`}>
            what changed
          </Away>
          )
        </>
      )}
    </>
  );
}

/** The pull request that a commit came with. */
export function RequestLink(props: { pullRequest: number; subject: string; repository: string }) {
  const links = linksOf(props.repository);
  const number = requestOf(links, props.pullRequest, props.subject);
  const url = requestHref(links, number);
  if (!number || !url || !links) return null;
  const sign = links.request_word.startsWith("merge") ? "!" : "#";
  return (
    <Away url={url} title={`${links.request_word} ${number} on ${placeOf(links)}`}>
      {sign}
      {number}
    </Away>
  );
}

export function AuthorLink({ author, repository }: { author: string; repository: string }) {
  const links = linksOf(repository);
  return (
    <Away url={authorHref(links, author)} title={`Commits of ${author} on ${placeOf(links)}`}>
      {author}
    </Away>
  );
}

/** A text in which addresses are links. */
export function Addresses({ text }: { text: string }) {
  const parts = text.split(/(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,:;!?])/i);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 ? (
          <Away key={index} url={part}>
            {part}
          </Away>
        ) : (
          part
        ),
      )}
    </>
  );
}

function placeOf(links: CodeLinks | undefined): string {
  return links?.forge || "the repository's page";
}
