// Where somebody deals with a finding: its state, who looks after it, and what there is to say.

import { useRef, useState } from "preact/hooks";
import { useAbout } from "../../parts/about";
import { useKeys } from "../../parts/keys";
import { Problem } from "../../parts/states";
import type { FindingView } from "../../shapes";
import { triage, VERBS, type Wish } from "./triage";

export function Desk({ view, onChange }: { view: FindingView; onChange: (view: FindingView) => void }) {
  const { line } = view;
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [said, setSaid] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const wish = async (what: Wish, done: string) => {
    if (busy) return;
    setBusy(true);
    try {
      onChange(await triage(line.id, { ...what, comment: comment.trim() }));
      setComment((now) => (now === comment ? "" : now)); // more may have been typed meanwhile
      setError("");
      setSaid(done);
    } catch (problem) {
      setError((problem as Error).message);
    }
    setBusy(false);
  };
  const verbs = VERBS.filter((verb) => verb.state !== line.state);
  useKeys([
    ...verbs.map((verb) => ({
      keys: verb.key,
      does: verb.name,
      run: () => void wish({ state: verb.state }, `It is ${verb.done}.`),
    })),
    { keys: "c", does: "Write a comment", run: () => field.current?.focus() },
  ]);
  return (
    <section class="section panel desk" aria-labelledby="desk">
      <h2 id="desk">Deal with it</h2>
      <label class="field">
        Comment, if any
        <textarea
          ref={field}
          rows={3}
          maxLength={10000}
          value={comment}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </label>
      <div class="row">
        {verbs.map((verb, index) => (
          <button
            key={verb.key}
            type="button"
            class={index ? "" : "main"}
            disabled={busy}
            title={`${verb.means[0]!.toUpperCase()}${verb.means.slice(1)} (${verb.key})`}
            aria-keyshortcuts={verb.key}
            onClick={() => void wish({ state: verb.state }, `It is ${verb.done}.`)}
          >
            {verb.name}
          </button>
        ))}
        <button type="button" disabled={busy || !comment.trim()} onClick={() => void wish({}, "The comment is kept.")}>
          Only comment
        </button>
      </div>
      <Assign
        assignee={line.assignee}
        busy={busy}
        assign={(assignee) =>
          void wish({ assignee }, assignee ? `${assignee} looks after it.` : "Nobody looks after it.")
        }
      />
      <p class="soft small" role="status">
        {said}
      </p>
      {error && <Problem error={error} />}
    </section>
  );
}

function Assign({ assignee, busy, assign }: { assignee: string; busy: boolean; assign: (who: string) => void }) {
  const me = useAbout()?.who ?? "";
  const [who, setWho] = useState(assignee);
  const submit = (event: Event) => {
    event.preventDefault();
    if (who.trim() !== assignee) assign(who.trim());
  };
  return (
    <form class="row desk-assign" onSubmit={submit}>
      <label class="field">
        Who looks after it
        <input
          value={who}
          maxLength={200}
          placeholder="nobody"
          autocomplete="off"
          onInput={(event) => setWho(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={busy || who.trim() === assignee}>
        Assign
      </button>
      {me && me !== assignee && (
        <button
          type="button"
          disabled={busy}
          onClick={() => {
            setWho(me);
            assign(me);
          }}
        >
          Take it
        </button>
      )}
    </form>
  );
}
