// The frame around every page: navigation, search, theme, keys, the prompt for a token, and which page an address means.

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useData } from "./api";
import { SignIn, SignOut } from "./frame/account";
import { Help } from "./frame/help";
import { Navigation, PLACES } from "./frame/navigation";
import { SaveView } from "./frame/saveview";
import { TokenPrompt } from "./frame/token";
import "./frame/frame.css";
import { ComparePage } from "./pages/compare";
import { FindingsPage } from "./pages/findings";
import { LabPage } from "./pages/lab";
import { LivePage } from "./pages/live";
import { MachinesPage } from "./pages/machines";
import { MatrixPage } from "./pages/matrix";
import { OverviewPage } from "./pages/overview";
import { ResultPage } from "./pages/result";
import { RunsPage } from "./pages/runs";
import { SeriesPage } from "./pages/series";
import { SettingsPage } from "./pages/settings";
import { ViewsPage } from "./pages/views";
import { AboutContext, may } from "./parts/about";
import { date } from "./parts/format";
import { useKeys } from "./parts/keys";
import { leadsSomewhere } from "./parts/published";
import { Empty, Problem, Waiting } from "./parts/states";
import { entitle } from "./parts/title";
import { href, open, useRoute, type Route } from "./route";
import type { About } from "./shapes";

/** What every page is given. */
export interface PageProps {
  route: Route;
  /** Asks anew who looks, and what opens first. */
  refresh: () => void;
}

const PAGES = new Map<string, ComponentType<PageProps>>([
  ["overview", OverviewPage],
  ["series", SeriesPage],
  ["compare", ComparePage],
  ["matrix", MatrixPage],
  ["runs", RunsPage],
  ["results", ResultPage],
  ["findings", FindingsPage],
  ["machines", MachinesPage],
  ["lab", LabPage],
  ["live", LivePage],
  ["settings", SettingsPage],
  ["views", ViewsPage],
]);

export function Shell() {
  const route = useRoute();
  const [visit, setVisit] = useState(0); // counts up when somebody signs in or out: everything is asked again
  const again = () => setVisit((before) => before + 1);
  const [refreshed, setRefreshed] = useState(0);
  const refresh = () => setRefreshed((before) => before + 1);
  const told = useData<About>("about", {}, visit + refreshed);
  const about = told.data ?? null;
  const [help, setHelp] = useState(false);
  const [saving, setSaving] = useState(false);
  const isAway = useHome(about, told.waiting);
  const main = useRef<HTMLElement>(null);
  useArrival(route, main);
  useKeys([
    ...PLACES.map(({ page, name, key }) => ({
      keys: `g ${key}`,
      does: name,
      run: () => open(href(page)),
    })),
    { keys: "/", does: "Search", run: () => document.getElementById("search")?.focus() },
    { keys: "?", does: "Keyboard shortcuts", run: () => setHelp(true) },
    ...(may(about, "triage") ? [{ keys: "v", does: "Save this page as a view", run: () => setSaving(true) }] : []),
  ]);
  const Page = PAGES.get(route.page) ?? Nowhere;
  return (
    <AboutContext.Provider value={about}>
      {/* biome-ignore lint/a11y/useValidAnchor: a link for those who skip, though the address holds the page */}
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Navigation
        route={route}
        about={about}
        openHelp={() => setHelp(true)}
        saveView={() => setSaving(true)}
        signedOut={again}
      />
      <main id="main" ref={main} tabIndex={-1}>
        <Guarded route={route}>{isAway ? <Waiting /> : <Page key={visit} route={route} refresh={refresh} />}</Guarded>
      </main>
      <Footer about={about} signedOut={again} />
      <Help open={help} close={() => setHelp(false)} />
      <SaveView open={saving} close={() => setSaving(false)} saved={refresh} />
      <TokenPrompt about={about} signedIn={again} />
    </AboutContext.Provider>
  );
}

/** An address without a page opens the team's home page, where there is one; true until it is known which. */
function useHome(about: About | null, waiting: boolean): boolean {
  const isBare = /^#?\/?$/.test(location.hash);
  // A published site may not hold what the team's home page shows; its overview it has.
  const home = about?.static && !leadsSomewhere(`#/${about.home}`) ? "" : (about?.home ?? "");
  useLayoutEffect(() => {
    if (!isBare || !home) return;
    history.replaceState(null, "", `#/${home}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  });
  return isBare && (about ? home !== "" : waiting);
}

/** A new page begins at its top, is named in the tab, and is what a screen reader reads next. */
function useArrival(route: Route, main: { current: HTMLElement | null }): void {
  const place = [route.page, ...route.parts].join("/");
  const arrived = useRef(place);
  useLayoutEffect(() => {
    const name = PLACES.find(({ page }) => page === route.page)?.name ?? route.page;
    entitle(`${name[0]?.toUpperCase()}${name.slice(1)}`); // before the page itself may name what it shows
  }, [place]);
  // Before the page is painted, so that what somebody types next never loses the focus they gave it.
  useLayoutEffect(() => {
    if (arrived.current === place) return;
    arrived.current = place;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);
}

/** A page that fails says so, and the frame stays; another page is tried anew. */
function Guarded({ route, children }: { route: Route; children: ComponentChildren }) {
  const [error, forget] = useErrorBoundary();
  const place = [route.page, ...route.parts].join("/");
  useEffect(() => void (error && forget()), [place]);
  return error ? <Problem error={`the page could not be drawn (${String(error)})`} retry={forget} /> : children;
}

function Nowhere({ route }: PageProps) {
  return (
    <Empty title={`No page named ${route.page}.`}>
      <p>
        <a href={href("overview")}>Go to the overview</a>
      </p>
    </Empty>
  );
}

function Footer({ about, signedOut }: { about: About | null; signedOut: () => void }) {
  if (!about) return <footer class="frame-foot" />;
  return (
    <footer class="frame-foot">
      <span>Benchwright {about.version}</span>
      {about.static ? <span>published {date(about.generated_at)}</span> : <span class="clip">{about.store}</span>}
      {about.who && <span>signed in as {about.who}</span>}
      {about.who && <SignOut done={signedOut} />}
      {!about.who && !about.static && !may(about, "admin") && <SignIn about={about} />}
    </footer>
  );
}
