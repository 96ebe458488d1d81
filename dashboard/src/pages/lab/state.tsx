// What a machine of the lab does, as a word with a shape: <MachineState state="busy" />; and the states of jobs.

import { Sign, type Look } from "../../parts/badges";

const MACHINES: { [state: string]: [look: Look, name: string] } = {
  free: ["tick", "free"],
  busy: ["ring", "busy"],
  reserved: ["bar", "reserved"],
  draining: ["bar", "draining"],
  drained: ["bar", "drained"],
  quarantined: ["bar", "quarantine"],
  troubled: ["cross", "out of order"],
  away: ["cross", "away"],
};

const JOBS: { [state: string]: Look } = {
  queued: "bar",
  leased: "ring",
  done: "tick",
  failed: "cross",
  cancelled: "bar",
  running: "ring",
};

export function MachineState({ state }: { state: string }) {
  const [look, name] = MACHINES[state] ?? ["bar", state];
  return <Sign look={look}>{name}</Sign>;
}

export function JobState({ state }: { state: string }) {
  return <Sign look={JOBS[state] ?? "bar"}>{state === "leased" ? "running" : state}</Sign>;
}
