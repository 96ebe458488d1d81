// What people wrote beside a series, and a form to write more.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../../api";
import { may, useAbout } from "../../parts/about";
import { date } from "../../parts/format";
import { Problem } from "../../parts/states";
import type { Note, SeriesView } from "../../shapes";

interface NotesProps {
  views: readonly SeriesView[];
  /** Of all of them, each once. */
  notes: readonly Note[];
  /** The instant that was picked on the chart. */
  at: number | null;
  reload: () => void;
}

export function Notes({ views, notes, at, reload }: NotesProps) {
  const allowed = may(useAbout(), "triage");
  const [error, setError] = useState("");
  if (!notes.length && !allowed) return null;
  const attempt = async (work: Promise<unknown>) => {
    try {
      await work;
      setError("");
      reload();
      return true;
    } catch (problem) {
      setError((problem as Error).message);
      return false;
    }
  };
  const first = views[0]!;
  const keep = (body: NoteBody) => attempt(send("POST", `series/${encodeURIComponent(first.line.key)}/notes`, body));
  const drop = (note: Note) => void attempt(send("DELETE", `notes/${note.id}`));
  return (
    <section class="section" aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      {notes.length > 0 && (
        <ol class="notes">
          {notes.map((note, index) => (
            <li key={note.id} id={`note-${note.id}`} tabIndex={-1}>
              <b class="mark-number">{index + 1}</b>
              <span class="note-text">{note.text}</span>
              <span class="soft small">
                {date(note.at)}
                {note.who && ` · ${note.who}`}
                {note.everywhere && " · on every series"}
                {note.release && " · a release"}
              </span>
              {allowed && (
                <button type="button" class="plain" onClick={() => drop(note)} aria-label={`Remove note ${index + 1}`}>
                  Remove
                </button>
              )}
            </li>
          ))}
        </ol>
      )}
      {error && <Problem error={error} />}
      {allowed && <NoteForm view={first} at={at} keep={keep} />}
    </section>
  );
}

interface NoteBody {
  at: number;
  text: string;
  everywhere: boolean;
  release: boolean;
}

function NoteForm({
  view,
  at,
  keep,
}: {
  view: SeriesView;
  at: number | null;
  keep: (body: NoteBody) => Promise<boolean>;
}) {
  const field = useRef<HTMLInputElement>(null);
  const [when, setWhen] = useState(() => inputText(view.at.at(-1) ?? Date.now()));
  useEffect(() => {
    if (at === null) return;
    setWhen(inputText(at));
    field.current?.focus();
  }, [at]);
  const submit = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const text = String(given.get("text") ?? "").trim();
    const body = {
      at: new Date(when).getTime(),
      text,
      everywhere: given.has("everywhere"),
      release: given.has("release"),
    };
    if (text && (await keep(body))) form.reset();
  };
  return (
    <form class="row note-form" onSubmit={submit}>
      <label class="field">
        When
        <input
          type="datetime-local"
          step="1"
          required
          value={when}
          onInput={(event) => setWhen(event.currentTarget.value)}
        />
      </label>
      <label class="field grow">
        Note
        <input ref={field} name="text" required maxLength={500} placeholder="Driver updated to 560" />
      </label>
      <label class="note-everywhere">
        <input type="checkbox" name="everywhere" /> On every series
      </label>
      <label class="note-everywhere">
        <input type="checkbox" name="release" /> A release
      </label>
      <button type="submit">Add note</button>
    </form>
  );
}

/** An instant as the browser's field for dates wants it: where the reader is, to the second. */
function inputText(ms: number): string {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
