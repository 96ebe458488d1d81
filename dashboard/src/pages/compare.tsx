import type { PageProps } from "../shell";

export function ComparePage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
