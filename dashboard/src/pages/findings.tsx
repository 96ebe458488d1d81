// Findings: #/findings is the list to work through, #/findings/ID one of them. What the list is narrowed to stays in the
// address of a finding, so that "next" means the next of the same list.

import type { PageProps } from "../shell";
import { FindingPage } from "./findings/finding";
import { FindingList } from "./findings/list";
import "./findings/findings.css";

export function FindingsPage({ route }: PageProps) {
  const [id] = route.parts;
  return id ? <FindingPage id={id} query={route.query} /> : <FindingList query={route.query} />;
}
