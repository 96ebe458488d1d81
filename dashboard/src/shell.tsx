// The frame around every page: navigation, theme, and which page an address means.

import type { ComponentType } from "preact";
import { ComparePage } from "./pages/compare";
import { FindingsPage } from "./pages/findings";
import { LivePage } from "./pages/live";
import { MachinesPage } from "./pages/machines";
import { MatrixPage } from "./pages/matrix";
import { OverviewPage } from "./pages/overview";
import { ResultPage } from "./pages/result";
import { RunsPage } from "./pages/runs";
import { SeriesPage } from "./pages/series";
import { useRoute, type Route } from "./route";

/** What every page is given. */
export interface PageProps {
  route: Route;
}

const PAGES: { [name: string]: ComponentType<PageProps> } = {
  overview: OverviewPage,
  series: SeriesPage,
  compare: ComparePage,
  matrix: MatrixPage,
  runs: RunsPage,
  results: ResultPage,
  findings: FindingsPage,
  machines: MachinesPage,
  live: LivePage,
};

export function Shell() {
  const route = useRoute();
  const Page = PAGES[route.page] ?? OverviewPage;
  return (
    <main>
      <Page route={route} />
    </main>
  );
}
