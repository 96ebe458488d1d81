// What goes to the forge: an issue about a finding or a cause, and a comment on the pull request of its commit.
// <AtForge of="findings/ID" repository={...} onSent={...} />

import { useState } from "preact/hooks";
import { isStatic, isThere, send, useData } from "../../api";
import { may, useAbout } from "../../parts/about";
import { linksOf, requestHref, safeLink } from "../../parts/code";
import { Away } from "../../parts/codelinks";
import { CopyButton } from "../../parts/copy";
import { Problem } from "../../parts/states";
import type { CodeLinks, IssueDraft } from "../../shapes";

interface AtForgeProps {
  /** Where the server keeps it: findings/ID or causes/ID. */
  of: string;
  repository: string;
  /** Its story has gone on. */
  onSent: () => void;
}

export function AtForge({ of, repository, onSent }: AtForgeProps) {
  const page = isStatic ? {} : { page: location.href.split("#")[0]! }; // how others reach this dashboard
  const answer = useData<IssueDraft>(isThere(`${of}/issue`) ? `${of}/issue` : null, page);
  const [sent, setSent] = useState<IssueDraft | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const allowed = may(useAbout(), "triage");
  const links = linksOf(repository);
  const draft = sent ?? answer.data;
  if (!draft || !links) return null;
  const post = async (what: string, body: { pull_request?: number }) => {
    if (busy) return;
    setBusy(true);
    try {
      setSent(await send<IssueDraft>("POST", `${of}/${what}`, { ...page, ...body }));
      setError("");
      onSent();
    } catch (problem) {
      setError((problem as Error).message);
    }
    setBusy(false);
  };
  const mine = allowed && draft.can_send;
  return (
    <section class="section panel at-forge" aria-labelledby="forge">
      <h2 id="forge">{links.forge ? `On ${links.forge}` : "At the repository"}</h2>
      <Issue draft={draft} open={mine ? () => void post("issue", {}) : undefined} busy={busy} />
      <Comment
        draft={draft}
        links={links}
        comment={mine ? (number) => void post("pull-request-comment", { pull_request: number }) : undefined}
        busy={busy}
      />
      <p class="row small soft">
        The text as Markdown <CopyButton text={draft.text} about="the text of the issue" />
      </p>
      <p class="soft small" role="status">
        {busy ? `Asking ${links.forge || "the forge"} …` : ""}
      </p>
      {error && <Problem error={error} />}
    </section>
  );
}

interface IssueProps {
  draft: IssueDraft;
  open: (() => void) | undefined;
  busy: boolean;
}

function Issue({ draft, open, busy }: IssueProps) {
  if (safeLink(draft.opened))
    return (
      <p>
        <Away url={draft.opened}>The issue about it</Away>
      </p>
    );
  return (
    <div class="row">
      {open && (
        <button type="button" class="main" disabled={busy} onClick={open}>
          Open an issue
        </button>
      )}
      {safeLink(draft.form) && (
        <Away url={draft.form} title={draft.title}>
          {open ? "Fill in the form instead" : "Open an issue"}
        </Away>
      )}
      {draft.shortened && safeLink(draft.form) && (
        <span class="soft small">The form holds only the beginning of the text: an address cannot hold all of it.</span>
      )}
      {!open && !safeLink(draft.form) && <span class="soft">It has no form for issues that can be filled in.</span>}
    </div>
  );
}

interface CommentProps {
  draft: IssueDraft;
  links: CodeLinks;
  comment: ((number: number) => void) | undefined;
  busy: boolean;
}

function Comment({ draft, links, comment, busy }: CommentProps) {
  const [typed, setTyped] = useState("");
  if (safeLink(draft.commented))
    return (
      <p>
        <Away url={draft.commented}>The comment on the {links.request_word}</Away>
      </p>
    );
  const sign = links.request_word.startsWith("merge") ? "!" : "#";
  if (!comment) {
    const url = requestHref(links, draft.request);
    return url ? (
      <p class="row">
        <Away url={url}>
          The {links.request_word} {sign}
          {draft.request}
        </Away>
      </p>
    ) : null;
  }
  if (draft.request)
    return (
      <p class="row">
        <button type="button" disabled={busy} onClick={() => comment(draft.request)}>
          Comment on {sign}
          {draft.request}
        </button>
      </p>
    );
  const number = Number(typed.replace(/^[#!]/, ""));
  const good = Number.isInteger(number) && number > 0 && number < 1e9;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (good) comment(number);
      }}
    >
      <label class="field">
        Number of the {links.request_word}
        <input
          class="forge-number"
          inputMode="numeric"
          autocomplete="off"
          value={typed}
          maxLength={10}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={busy || !good}>
        Comment on it
      </button>
    </form>
  );
}
