import type { PageProps } from "../shell";

export function LivePage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
