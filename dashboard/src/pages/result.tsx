import type { PageProps } from "../shell";

export function ResultPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
