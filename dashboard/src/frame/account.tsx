// Who is signed in, and what goes with that: settings, and the way out. Nothing of it on a published site.

import { useEffect, useRef, useState } from "preact/hooks";
import { askForToken, send } from "../api";
import { may } from "../parts/about";
import { href } from "../route";
import type { About } from "../shapes";

/** Where the provider asks who somebody is; it leads back to the present place. */
export function signInAddress(): string {
  return `sign-in?next=${encodeURIComponent(location.hash)}`;
}

/** How to become somebody: at the provider where there is one, else with a token. */
export function SignIn({ about }: { about: About }) {
  if (about.sign_in)
    return (
      <a class="sign-in" href={signInAddress()}>
        {about.sign_in}
      </a>
    );
  return (
    <button type="button" class="plain" onClick={askForToken}>
      Sign in
    </button>
  );
}

export function SignOut({ done }: { done: () => void }) {
  const [error, setError] = useState("");
  const out = () => send("DELETE", "session").then(done, (problem: Error) => setError(problem.message));
  return (
    <>
      <button type="button" class="plain" onClick={() => void out()}>
        Sign out
      </button>
      {error && (
        <span class="worse" role="alert">
          {error}
        </span>
      )}
    </>
  );
}

interface AccountProps {
  about: About | null;
  /** Where the visitor is: the menu closes when that changes. */
  place: string;
  signedOut: () => void;
}

/** The menu at the end of the bar. */
export function Account({ about, place, signedOut }: AccountProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => menu.current?.removeAttribute("open");
  useEffect(close, [place, about?.who]);
  useEffect(() => {
    const away = (event: Event) => {
      if (menu.current?.open && !menu.current.contains(event.target as Node)) close();
    };
    addEventListener("click", away);
    return () => removeEventListener("click", away);
  }, []);
  if (!about || about.static) return null;
  return (
    <details
      class="account"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        close();
        menu.current.querySelector("summary")?.focus();
      }}
    >
      <summary title={about.who || "Account"}>
        <span class="aside">{about.who ? `Account: ${about.who}` : "Account"}</span>
        <span class="account-face" aria-hidden="true">
          {about.who ? initials(about.who) : <Face />}
        </span>
      </summary>
      <div class="account-menu">
        <p>
          {about.who ? <strong>{about.who}</strong> : "You are not signed in."}
          <br />
          <span class="soft">{roleText(about)}</span>
        </p>
        {may(about, "triage") && <a href={href("settings")}>Settings</a>}
        {about.who ? <SignOut done={signedOut} /> : !may(about, "admin") && <SignIn about={about} />}
      </div>
    </details>
  );
}

const ROLES: { [scope: string]: string } = {
  read: "may look",
  triage: "may look and triage",
  write: "may look, triage and send results",
  admin: "may do everything",
};

/** What the visitor may do, in words. */
export function roleText(about: About): string {
  const scope = about.scopes.at(-1);
  return (scope && ROLES[scope]) || "may not look at anything yet";
}

/** The first letters of the first and the last name. */
export function initials(who: string): string {
  const words = who
    .replace(/<.*/, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return ends.map((word) => [...word][0]!.toUpperCase()).join("") || "?";
}

function Face() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle cx="8" cy="5.5" r="2.8" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M2.5 14c.6-3 2.8-4.3 5.5-4.3s4.9 1.3 5.5 4.3" fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  );
}
