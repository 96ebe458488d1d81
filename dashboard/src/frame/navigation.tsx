// The bar on top: places, search, theme, help. On a phone the places fold into a menu.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { may } from "../parts/about";
import { useTheme, type Choice } from "../parts/theme";
import { href, open, type Route } from "../route";
import type { About } from "../shapes";
import { Account } from "./account";
import { LiveDot } from "./livedot";

/** Where one can go, and the key after `g` that leads there. */
export const PLACES = [
  { page: "overview", name: "Overview", key: "o" },
  { page: "findings", name: "Findings", key: "f" },
  { page: "series", name: "Series", key: "s" },
  { page: "compare", name: "Compare", key: "c" },
  { page: "matrix", name: "Matrix", key: "x" },
  { page: "runs", name: "Runs", key: "r" },
  { page: "machines", name: "Machines", key: "m" },
  { page: "lab", name: "Lab", key: "b" },
  { page: "live", name: "Live", key: "l" },
  { page: "views", name: "Views", key: "v" },
] as const;

const NEXT: { [choice in Choice]: Choice } = { system: "light", light: "dark", dark: "system" };

interface NavigationProps {
  route: Route;
  about: About | null;
  openHelp: () => void;
  saveView: () => void;
  signedOut: () => void;
}

export function Navigation({ route, about, openHelp, saveView, signedOut }: NavigationProps) {
  const [open, setOpen] = useState(false);
  const [choice, choose] = useTheme();
  useEffect(() => setOpen(false), [route.page, route.parts.join("/")]);
  const present = route.page === "results" ? "runs" : route.page;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the menu from any link and button in it
    <header class="frame-head" onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      <a class="brand" href="#/">
        <Mark />
        Benchwright
      </a>
      <button type="button" class="menu" aria-expanded={open} aria-controls="places" onClick={() => setOpen(!open)}>
        Menu
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key on a link in it is a click too */}
      <nav id="places" class={open ? "places open" : "places"} aria-label="Pages" onClick={() => setOpen(false)}>
        {PLACES.filter(({ page }) => !about?.static || !["live", "lab"].includes(page)).map(({ page, name }) => (
          <a key={page} href={href(page)} aria-current={present === page ? "page" : undefined}>
            {name}
            {page === "live" && <LiveDot />}
          </a>
        ))}
      </nav>
      <div class="tools">
        <Search route={route} />
        {may(about, "triage") && (
          <button
            type="button"
            class="plain"
            onClick={saveView}
            aria-label="Save this page as a view"
            title="Save this page as a view (v)"
          >
            <Star />
          </button>
        )}
        <button
          type="button"
          class="plain"
          onClick={() => choose(NEXT[choice])}
          aria-label={`Theme: ${choice}. Change`}
          title={`Theme: ${choice}`}
        >
          <ThemeIcon choice={choice} />
        </button>
        <button
          type="button"
          class="plain keys"
          onClick={openHelp}
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
        >
          ?
        </button>
        <Account about={about} place={[route.page, ...route.parts].join("/")} signedOut={signedOut} />
      </div>
    </header>
  );
}

function Search({ route }: { route: Route }) {
  const [words, setWords] = useState("");
  // Before the page is painted: a later moment would wipe what somebody has begun to type.
  useLayoutEffect(
    () => setWords(route.page === "series" && !route.parts.length ? (route.query["words"] ?? "") : ""),
    [route],
  );
  const go = (event: Event) => {
    event.preventDefault();
    open(href("series", [], { words: words.trim() }));
  };
  return (
    <form class="search" role="search" onSubmit={go}>
      <input
        id="search"
        type="search"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        placeholder="Search series"
        aria-label="Search series"
        aria-keyshortcuts="/"
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M2 17.5V2.5M2 17.5h16" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M5 8.5h5v5h7" fill="none" stroke="var(--link)" stroke-width="2" />
    </svg>
  );
}

function Star() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d="m8 1.8 1.9 4 4.4.6-3.2 3 .8 4.4L8 11.7l-3.9 2.1.8-4.4-3.2-3 4.4-.6Z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linejoin="round"
      />
    </svg>
  );
}

function ThemeIcon({ choice }: { choice: Choice }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle
        cx="8"
        cy="8"
        r="6"
        fill={choice === "dark" ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width="1.5"
      />
      {choice === "system" && <path d="M8 2a6 6 0 0 1 0 12Z" fill="currentColor" />}
    </svg>
  );
}
