import type { PageProps } from "../shell";

export function MachinesPage({ route }: PageProps) {
  return <h1>{route.page}</h1>;
}
