// What is done with several findings at once, or with the one that the keys mean; with a way back.

import { useState } from "preact/hooks";
import { count } from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Problem } from "../../parts/states";
import type { FindingLine } from "../../shapes";
import { triage, triageAll, VERBS } from "./triage";

interface BulkProps {
  meant: readonly FindingLine[];
  ticked: number;
  chooseAll: () => void;
  done: () => void;
}

interface Told {
  text: string;
  before: readonly FindingLine[];
}

export function Bulk({ meant, ticked, chooseAll, done }: BulkProps) {
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<Told | null>(null);
  const [error, setError] = useState("");
  const attempt = async (work: () => Promise<Told | null>) => {
    if (busy) return;
    setBusy(true);
    try {
      setTold(await work());
      setError("");
      setComment((now) => (now === comment ? "" : now)); // more may have been typed meanwhile
    } catch (problem) {
      setError((problem as Error).message);
    }
    setBusy(false);
    done();
  };
  const put = ({ state, done: word }: (typeof VERBS)[number]) =>
    void (
      meant.length &&
      attempt(async () => {
        const before = await triageAll(meant, state, comment.trim());
        return before.length ? { text: `${count(before.length, "finding")} ${word}.`, before } : null;
      })
    );
  const undo = () =>
    void attempt(async () => {
      for (const one of told?.before ?? []) await triage(one.id, { state: one.state });
      return null;
    });
  useKeys(VERBS.map((verb) => ({ keys: verb.key, does: `${verb.name} what is chosen`, run: () => put(verb) })));
  return (
    <div class="stack bulk">
      <div class="row" role="group" aria-label="What becomes of what is chosen">
        <button type="button" onClick={chooseAll}>
          {ticked ? "Choose none" : "Choose all"}
        </button>
        {VERBS.map((verb) => (
          <button
            key={verb.key}
            type="button"
            disabled={busy || !meant.length}
            title={`${verb.name}: ${verb.means} (${verb.key})`}
            aria-keyshortcuts={verb.key}
            onClick={() => put(verb)}
          >
            {verb.name}
          </button>
        ))}
        <input
          class="bulk-comment"
          value={comment}
          maxLength={2000}
          placeholder="Comment, if any"
          aria-label="Comment"
          onInput={(event) => setComment(event.currentTarget.value)}
        />
        <span class="soft small" role="status">
          {told ? told.text : ticked ? `${count(ticked, "finding")} chosen` : ""}
        </span>
        {told && (
          <button type="button" class="plain" disabled={busy} onClick={undo}>
            Undo
          </button>
        )}
      </div>
      {error && <Problem error={error} />}
    </div>
  );
}
