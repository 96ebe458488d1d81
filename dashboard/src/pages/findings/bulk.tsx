// What is done with several findings at once, or with the one that the keys mean; with a way back.

import { useState } from "preact/hooks";
import { count } from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Problem } from "../../parts/states";
import { triageAll, undoAll, VERBS, type Changed, type Only } from "./triage";

/** Something else that can be done, where enough is chosen for it. */
export interface Other {
  name: string;
  means: string;
  key: string;
  least: number;
  /** Does it, and says what was done. */
  run: (meant: readonly string[], comment: string) => Promise<string>;
}

interface BulkProps {
  /** Ids of findings, or of causes. */
  meant: readonly string[];
  /** How many findings these are. */
  findings: number;
  /** What the list is narrowed to: of a cause, only findings that it shows are changed. */
  only?: Only;
  /** What one of them is called. */
  noun: string;
  ticked: number;
  chooseAll: () => void;
  done: () => void;
  others?: readonly Other[];
}

interface Told {
  text: string;
  changed: readonly Changed[];
}

export function Bulk({ meant, findings, only, noun, ticked, chooseAll, done, others = [] }: BulkProps) {
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
        const changed = await triageAll(meant, { state, comment: comment.trim() }, only);
        return changed.length ? { text: `${count(changed.length, "finding")} ${word}.`, changed } : null;
      })
    );
  const undo = () =>
    void attempt(async () => {
      await undoAll(told?.changed ?? []);
      return null;
    });
  const other = ({ run, least }: Other) =>
    void (ticked >= least && attempt(async () => ({ text: await run(meant, comment.trim()), changed: [] })));
  useKeys([
    ...VERBS.map((verb) => ({ keys: verb.key, does: `${verb.name} the selected ${noun}s`, run: () => put(verb) })),
    ...others.map((one) => ({ keys: one.key, does: one.means, run: () => other(one) })),
  ]);
  return (
    <div class="stack bulk">
      <div class="row" role="group" aria-label={`Actions for the selected ${noun}s`}>
        <button type="button" onClick={chooseAll}>
          {ticked ? "Select none" : "Select all"}
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
        {others.map((one) => (
          <button
            key={one.key}
            type="button"
            disabled={busy || ticked < one.least}
            title={`${one.means} (${one.key})`}
            aria-keyshortcuts={one.key}
            onClick={() => other(one)}
          >
            {one.name}
          </button>
        ))}
        <input
          class="bulk-comment"
          value={comment}
          maxLength={2000}
          placeholder="Comment (optional)"
          aria-label="Comment"
          onInput={(event) => setComment(event.currentTarget.value)}
        />
        <span class="soft small" role="status">
          {told ? told.text : ticked ? selectedText(ticked, noun, findings) : ""}
        </span>
        {told && told.changed.length > 0 && (
          <button type="button" class="plain" disabled={busy} onClick={undo}>
            Undo
          </button>
        )}
      </div>
      {error && <Problem error={error} />}
    </div>
  );
}

function selectedText(ticked: number, noun: string, findings: number): string {
  const selected = `${count(ticked, noun)} selected`;
  return noun === "finding" ? selected : `${selected}, ${count(findings, "finding")}`;
}
