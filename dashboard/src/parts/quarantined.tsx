// That results are kept and not judged: <Quarantined line={result.quarantine} machine={key} name="bench-1" />
//   spansOf(view.quarantines) gives a chart the stretches of time to shade; <MachineNotices /> names machines to look at.

import { useData } from "../api";
import { href } from "../route";
import type { MachineNotices as Notices, QuarantineLine } from "../shapes";
import "./cautions.css";
import { HealthBadge } from "./badges";
import type { ChartSpan } from "./chart/spans";
import { date } from "./format";

export function Quarantined({ line, machine, name }: { line: QuarantineLine; machine?: string; name?: string }) {
  return (
    <p class="caution" role="note">
      <span>
        Measured while {machine ? <a href={href("machines", [machine])}>{name || machine}</a> : "the machine"} was in
        quarantine: {line.reason || "no reason given"}. Kept, but not judged.
      </span>
    </p>
  );
}

/** The quarantines in words, for those who cannot see what is shaded. */
export function QuarantineWords({ lines }: { lines: readonly QuarantineLine[] }) {
  if (!lines.length) return null;
  const words = lines.map(
    ({ since, until, reason }) =>
      `${date(since)} to ${until === null ? "now" : date(until)}${reason ? ` (${reason})` : ""}`,
  );
  return <p class="soft small">Shaded: the machine was in quarantine, points are not judged. {words.join(", ")}</p>;
}

/** Where a chart is shaded. */
export function spansOf(lines: readonly QuarantineLine[]): ChartSpan[] {
  return lines.map(({ since, until }) => ({ from: since, to: until ?? Infinity }));
}

/** Machines that somebody should look at; nothing while all are well. */
export function MachineNotices() {
  const found = useData<Notices>("machines/notices").data?.notices ?? [];
  if (!found.length) return null;
  return (
    <section class="section" aria-labelledby="machine-notices">
      <h2 id="machine-notices">Machines to look at</h2>
      <ul class="cautions">
        {found.map(({ key, name, trouble, quarantine }) => (
          <li key={key} class="caution">
            <p class="row tight">
              <a href={href("machines", [key])}>{name || key}</a>
              <HealthBadge trouble={trouble} quarantine={quarantine} />
            </p>
            <p class="soft small">
              {quarantine
                ? `Since ${date(quarantine.since)}: ${quarantine.reason}. Results are kept, but not judged.`
                : `${trouble}. Consider a quarantine.`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
