// Keeps the present page, with everything that is chosen on it, under a name.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api";
import { may, useAbout } from "../parts/about";
import { href } from "../route";
import type { ViewLine } from "../shapes";

/** `saved` is called when what opens first may be another page now. */
export function SaveView({ open, close, saved }: { open: boolean; close: () => void; saved: () => void }) {
  const about = useAbout();
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  const [kept, setKept] = useState<ViewLine | null>(null);
  useEffect(() => {
    if (!open) return dialog.current?.close();
    setError("");
    setKept(null);
    dialog.current?.showModal();
  }, [open]);
  const leave = () => dialog.current?.close(); // at once: keys are heard again as soon as it is gone
  const keep = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const name = String(given.get("name") ?? "").trim();
    try {
      setKept(await send<ViewLine>("POST", "views", { name, address: present(), is_home: given.has("home") }));
    } catch (problem) {
      return setError((problem as Error).message);
    }
    form.reset();
    setError("");
    if (given.has("home")) saved();
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="view-title">
      {kept ? (
        <div class="stack token">
          <h2 id="view-title">Saved as {kept.name}</h2>
          <p role="status">
            <a href={href("views")} onClick={leave}>
              All views
            </a>
            {kept.is_home && ", this one opens first"}
          </p>
          <div class="row">
            <button type="button" class="main" onClick={leave}>
              Close
            </button>
          </div>
        </div>
      ) : (
        <form class="stack token" onSubmit={keep}>
          <h2 id="view-title">Save this page as a view</h2>
          <p class="soft">Filters, axis, order and the series on it are kept. Everybody who may read can open it.</p>
          <label class="field">
            Name
            <input name="name" required maxLength={100} autocomplete="off" aria-describedby="view-error" />
          </label>
          {may(about, "write") && (
            <label>
              <input type="checkbox" name="home" /> The team's home page
            </label>
          )}
          <p id="view-error" class="worse" role="alert">
            {error}
          </p>
          <div class="row">
            <button type="submit" class="main">
              Save view
            </button>
            <button type="button" onClick={leave}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </dialog>
  );
}

/** What follows `#/` in the present address. */
function present(): string {
  return location.hash.replace(/^#\/?/, "") || "overview";
}
