import type { PageProps } from "../shell";

export function FindingsPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
