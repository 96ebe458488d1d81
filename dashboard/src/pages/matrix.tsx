import type { PageProps } from "../shell";

export function MatrixPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
