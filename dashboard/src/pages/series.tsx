import type { PageProps } from "../shell";

export function SeriesPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
