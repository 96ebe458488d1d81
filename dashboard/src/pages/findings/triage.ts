// What can be done with a finding.

import { send } from "../../api";
import type { FindingLine, FindingView, State } from "../../shapes";

export interface Wish {
  state?: State;
  assignee?: string;
  comment?: string;
}

/** The verbs of triage: what is pressed, what becomes of the finding, and what has been done then. */
export const VERBS: readonly { key: string; name: string; state: State; done: string; means: string }[] = [
  {
    key: "a",
    name: "Acknowledge",
    state: "acknowledged",
    done: "acknowledged",
    means: "it is known and being looked at",
  },
  { key: "r", name: "Resolve", state: "resolved", done: "resolved", means: "it was dealt with" },
  { key: "i", name: "Ignore", state: "ignored", done: "ignored", means: "it is as it should be, or does not matter" },
  { key: "o", name: "Reopen", state: "open", done: "reopened", means: "it is open again" },
];

export function triage(id: string, wish: Wish): Promise<FindingView> {
  return send<FindingView>("PATCH", `findings/${encodeURIComponent(id)}`, wish);
}

/** Brings several findings into a state, one after the other; says which were in another one before. */
export async function triageAll(
  findings: readonly FindingLine[],
  state: State,
  comment: string,
): Promise<FindingLine[]> {
  const others = findings.filter((one) => one.state !== state);
  for (const one of others) await triage(one.id, { state, comment });
  return others;
}
