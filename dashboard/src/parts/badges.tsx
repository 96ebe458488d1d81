// Small signs, each a shape and a word, so that no colour is needed to read them.
//   <VerdictBadge verdict="worse" /> · <StatusBadge status="failed" count={3} /> · <StateBadge state="open" />
//   <Effect effect={finding.effect} unit="s" verdict="worse" interval /> "▲ 12 % slower [+9.8 %, +14 %]"
//   <Tally of={3} kind="worse" /> a number that matters · <Arrow up /> the triangle alone
//   <Swatch index={2} /> the colour of a chart's line · <Sign look="tick">free</Sign> any word with a shape

import type { Estimate, QuarantineLine, State, Status, Verdict } from "../shapes";
import "./badges.css";
import { change, changeInterval, whole } from "./format";

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return (
    <span class={`badge ${verdict}`}>
      <Glyph path={VERDICTS[verdict]} />
      {verdict}
    </span>
  );
}

export function StatusBadge({ status, count }: { status: Status; count?: number }) {
  return (
    <span class={`badge ${LOOKS[status]}`}>
      <Glyph path={STATUSES[status]} />
      {count === undefined ? status : `${count} ${status}`}
    </span>
  );
}

export function StateBadge({ state }: { state: State }) {
  return <span class={`badge state-${state}`}>{state}</span>;
}

/** That a value changed little by little, and not at once. */
export function DriftBadge() {
  return (
    <span class="badge" title="A gradual change over many runs">
      <Glyph path={SLOPE} />
      drift
    </span>
  );
}

/** That a machine's results are not judged, or that it is out of its usual; nothing when all is well. */
export function HealthBadge({ trouble, quarantine }: { trouble: string; quarantine: QuarantineLine | null }) {
  if (quarantine)
    return (
      <span class="badge unclear" title={quarantine.reason}>
        <Glyph path={BAR} />
        quarantine
      </span>
    );
  return trouble ? (
    <span class="badge worse" title={trouble}>
      <Glyph path={CROSS} />
      out of usual
    </span>
  ) : null;
}

export type Look = "tick" | "cross" | "bar" | "ring";

/** Any word with a shape: <Sign look="tick">free</Sign> */
export function Sign({ look, children }: { look: Look; children: string }) {
  const [kind, path] = SIGNS[look];
  return (
    <span class={`badge ${kind}`}>
      <Glyph path={path} />
      {children}
    </span>
  );
}

/** How much something changed: the arrow is the direction of the number, the colour and the verdict say what that means. */
export function Effect(props: { effect: Estimate; unit: string; verdict: Verdict; interval?: boolean }) {
  const { effect, unit, verdict } = props;
  const within = props.interval ? changeInterval(effect, unit) : "";
  return (
    <span class={`effect ${verdict}`}>
      <Arrow up={effect.point >= 1} /> {change(effect.point, unit)}
      <span class="aside">, {verdict}</span>
      {within && <span class="within soft"> {within}</span>}
    </span>
  );
}

/** How many there are of something that matters; none is pale. */
export function Tally({ of, kind }: { of: number; kind: "worse" | "better" }) {
  return of ? <b class={kind}>{whole(of)}</b> : <span class="soft">0</span>;
}

export function Arrow({ up }: { up: boolean }) {
  return <Glyph path={up ? UP : DOWN} />;
}

export function Swatch({ index }: { index: number }) {
  return (
    <svg class="swatch" viewBox="0 0 18 10" width="18" height="10" aria-hidden="true">
      <line
        class={`stroke-${index % 8}`}
        x1="0"
        y1="5"
        x2="18"
        y2="5"
        stroke-dasharray={DASHES[index % 8]!.join(" ")}
      />
    </svg>
  );
}

/** The dashes of a chart's lines, by index: a second sign beside their colours. */
export const DASHES: readonly (readonly number[])[] = [
  [],
  [6, 3],
  [2, 2],
  [9, 3, 2, 3],
  [],
  [6, 3],
  [2, 2],
  [9, 3, 2, 3],
];

const SLOPE = "M.8 8.6 8 1.4l1.1 1.1-7.2 7.2Z";
const UP = "M5 1.5 9.3 8.5H.7Z";
const DOWN = "M5 8.5.7 1.5h8.6Z";
const CROSS = "M1.5 2.6 2.6 1.5 5 3.9l2.4-2.4 1.1 1.1L6.1 5l2.4 2.4-1.1 1.1L5 6.1 2.6 8.5 1.5 7.4 3.9 5Z";
const TICK = "M3.9 8.6.9 5.5 2 4.4l1.9 1.9L8 1.9 9.1 3Z";
const BAR = "M1 4h8v2H1Z";
const RING = "M5 1a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm0 1.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z";
const SIGNS: { [look in Look]: readonly [kind: string, path: string] } = {
  tick: ["better", TICK],
  cross: ["worse", CROSS],
  bar: ["same", BAR],
  ring: ["unclear", RING],
};
const VERDICTS: { [verdict in Verdict]: string } = { worse: CROSS, better: TICK, same: BAR, unclear: RING };
const STATUSES: { [status in Status]: string } = {
  ok: TICK,
  failed: CROSS,
  timeout: CROSS,
  killed: CROSS,
  skipped: BAR,
  refused: BAR,
};
const LOOKS: { [status in Status]: string } = {
  ok: "better",
  failed: "worse",
  timeout: "worse",
  killed: "worse",
  skipped: "same",
  refused: "same",
};

function Glyph({ path }: { path: string }) {
  return (
    <svg class="glyph" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <path d={path} fill="currentColor" />
    </svg>
  );
}
