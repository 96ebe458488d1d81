// Asks who somebody is when the server wants to know: at the provider where there is one, or by a token. The browser
// then holds a cookie that no script can read.

import { useEffect, useRef, useState } from "preact/hooks";
import { send, WANTS_TOKEN } from "../api";
import type { About } from "../shapes";
import { SignIn } from "./account";

export function TokenPrompt({ about, signedIn }: { about: About | null; signedIn: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const ask = () => dialog.current && !dialog.current.open && dialog.current.showModal();
    addEventListener(WANTS_TOKEN, ask);
    return () => removeEventListener(WANTS_TOKEN, ask);
  }, []);
  const enter = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const token = String(new FormData(form).get("token") ?? "").trim();
    try {
      await send("POST", "session", { token });
    } catch (problem) {
      return setError((problem as Error).message);
    }
    form.reset();
    setError("");
    dialog.current?.close();
    signedIn();
  };
  return (
    <dialog ref={dialog} aria-labelledby="token-title">
      <form class="stack token" onSubmit={enter}>
        <h2 id="token-title">{about?.sign_in ? "Sign in" : "Token required"}</h2>
        {about?.sign_in && (
          <p>
            <SignIn about={about} />
          </p>
        )}
        <p class="soft">
          {about?.sign_in && "Or use a token. "}
          The administrator of this server creates one with <code>benchwright token create NAME</code>.
        </p>
        {/* a name that nobody sees lets browsers remember the token */}
        <input
          class="aside"
          name="user"
          autocomplete="username"
          value="benchwright"
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        <label class="field">
          Token
          <input name="token" type="password" required autocomplete="current-password" aria-describedby="token-error" />
        </label>
        <p id="token-error" class="worse" role="alert">
          {error}
        </p>
        <div class="row">
          <button type="submit" class="main">
            Sign in
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
