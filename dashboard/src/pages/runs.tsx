import type { PageProps } from "../shell";

export function RunsPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
