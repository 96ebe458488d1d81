// Findings: #/findings is the list to work through, a row for each cause or, with each=yes, for each finding;
// #/findings/ID is a finding or a cause. What the list is narrowed to stays in the
// address of a finding, so that "next" means the next of the same list.

import type { PageProps } from "../shell";
import { CausePage } from "./findings/cause";
import { CauseList } from "./findings/causes";
import { current, isEach } from "./findings/chosen";
import { FindingPage } from "./findings/finding";
import { FindingList } from "./findings/list";
import "./findings/findings.css";

export function FindingsPage({ route }: PageProps) {
  const [id] = route.parts;
  const query = current(route.query);
  if (id?.startsWith("cause-")) return <CausePage id={id} query={query} />;
  if (id) return <FindingPage id={id} query={query} />;
  return isEach(query) ? <FindingList query={query} /> : <CauseList query={query} />;
}
