// Runs: #/runs lists them, #/runs/ID is one of them. Everything that is chosen is in the address.

import type { PageProps } from "../shell";
import { RunList } from "./runs/list";
import { RunPage } from "./runs/run";
import "./runs/runs.css";

export function RunsPage({ route }: PageProps) {
  return route.parts[0] ? <RunPage reference={route.parts[0]} query={route.query} /> : <RunList query={route.query} />;
}
