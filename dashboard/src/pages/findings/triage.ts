// What can be done with a finding.

import { send } from "../../api";
import type { CauseView, FindingView, State } from "../../shapes";

const MOST = 2000; // findings that one request names

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
    means: "somebody is looking into it",
  },
  { key: "r", name: "Resolve", state: "resolved", done: "resolved", means: "it is fixed" },
  { key: "i", name: "Ignore", state: "ignored", done: "ignored", means: "it is expected, or does not matter" },
  { key: "o", name: "Reopen", state: "open", done: "reopened", means: "it is open again" },
];

export function triage(id: string, wish: Wish): Promise<FindingView> {
  return send<FindingView>("PATCH", `findings/${encodeURIComponent(id)}`, wish);
}

/** A finding that was changed, with the state that it had before. */
export interface Changed {
  id: string;
  before: State;
  state: State;
}

/** What a list is narrowed to: of each that names any, one must fit. */
export type Only = { readonly [name: string]: readonly string[] };

/** Triages several findings, or all of a cause that fit `only`, in one go; says which were changed. */
export async function triageAll(findings: readonly string[], wish: Wish, only?: Only): Promise<Changed[]> {
  return (await send<{ changed: Changed[] }>("PATCH", "findings", { findings, ...wish, ...(only && { only }) }))
    .changed;
}

/** Brings findings back into the states that they had. */
export async function undoAll(changed: readonly Changed[]): Promise<void> {
  for (const state of new Set(changed.map((one) => one.before))) {
    const ids = changed.filter((one) => one.before === state).map((one) => one.id);
    for (let at = 0; at < ids.length; at += MOST) await triageAll(ids.slice(at, at + MOST), { state });
  }
}

/** Gives these findings a cause of their own. */
export function split(findings: readonly string[], comment: string): Promise<CauseView> {
  return send<CauseView>("POST", "causes", { findings, comment });
}

/** Gives these findings, or all of these causes, this cause. */
export function join(cause: string, findings: readonly string[], comment: string): Promise<CauseView> {
  return send<CauseView>("POST", `causes/${encodeURIComponent(cause)}/findings`, { findings, comment });
}
