// Where somebody triages a finding, or all of a cause: its state, its assignee, and what there is to say.

import { useRef, useState } from "preact/hooks";
import { useAbout } from "../../parts/about";
import { count } from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Problem } from "../../parts/states";
import type { State } from "../../shapes";
import { VERBS, type Wish } from "./triage";

interface DeskProps {
  state: State;
  assignee: string;
  /** Does what is wished with the finding, or with all of a cause; of a cause it says how many were changed. */
  wish: (what: Wish) => Promise<number | undefined>;
  /** How many findings it is for, where these are all of a cause. */
  findings?: number;
  /** Where such changes can be muted, or get a threshold. */
  rules?: string;
}

export function Desk({ state, assignee, findings = 1, wish: send, rules }: DeskProps) {
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [said, setSaid] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const wish = async (what: Wish, done: string) => {
    if (busy) return;
    setBusy(true);
    try {
      const changed = await send({ ...what, comment: comment.trim() });
      setComment((now) => (now === comment ? "" : now)); // more may have been typed meanwhile
      setError("");
      setSaid(typeof changed === "number" ? `${done} ${count(changed, "finding")} changed.` : done);
    } catch (problem) {
      setError((problem as Error).message);
    }
    setBusy(false);
  };
  const verbs = VERBS.filter((verb) => verb.state !== state);
  useKeys([
    ...verbs.map((verb) => ({
      keys: verb.key,
      does: verb.name,
      run: () => void wish({ state: verb.state }, `${verb.done[0]!.toUpperCase()}${verb.done.slice(1)}.`),
    })),
    { keys: "c", does: "Write a comment", run: () => field.current?.focus() },
  ]);
  return (
    <section class="section panel desk" aria-labelledby="desk">
      <h2 id="desk">Triage</h2>
      {findings > 1 && (
        <p class="soft small">
          Applies to those of the {findings} findings of this cause that it is meant for, not to one alone.
        </p>
      )}
      <label class="field">
        Comment (optional)
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
            onClick={() => void wish({ state: verb.state }, `${verb.done[0]!.toUpperCase()}${verb.done.slice(1)}.`)}
          >
            {verb.name}
          </button>
        ))}
        <button type="button" disabled={busy || !comment.trim()} onClick={() => void wish({}, "Comment added.")}>
          Add comment
        </button>
      </div>
      <Assign
        assignee={assignee}
        busy={busy}
        assign={(who) => void wish({ assignee: who }, who ? `Assigned to ${who}.` : "Unassigned.")}
      />
      <p class="soft small" role="status">
        {said}
      </p>
      {error && <Problem error={error} />}
      {rules && (
        <p class="small">
          <a href={rules}>Mute this case, or set a threshold</a>
        </p>
      )}
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
        Assignee
        <input
          value={who}
          maxLength={200}
          placeholder="unassigned"
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
          Assign to me
        </button>
      )}
    </form>
  );
}
