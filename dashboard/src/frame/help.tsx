// What can be pressed on the present page.

import { useEffect, useRef } from "preact/hooks";
import { allKeys } from "../parts/keys";

export function Help({ open, close }: { open: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-labelledby="help-title">
      <div class="row">
        <h2 id="help-title">Keyboard shortcuts</h2>
        <button type="button" class="push" onClick={close}>
          Close
        </button>
      </div>
      {open && (
        <dl>
          {allKeys().map(({ keys, does }) => (
            <div key={keys}>
              <dt>
                {keys.split(" ").map((one) => (
                  <kbd key={one}>{one}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      )}
    </dialog>
  );
}
