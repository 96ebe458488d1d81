import type { PageProps } from "../shell";

export function OverviewPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
