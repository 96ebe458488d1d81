// Whether a machine's results are judged: put it into quarantine, release it, and when it was in one.

import { useState } from "preact/hooks";
import { isThere, send } from "../../api";
import { may, useAbout } from "../../parts/about";
import { date } from "../../parts/format";
import { Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { MachineView, QuarantineLine } from "../../shapes";

export function Quarantine({ view, reload }: { view: MachineView; reload: () => void }) {
  const allowed = may(useAbout(), "triage");
  const [error, setError] = useState("");
  const { key, quarantine, trouble } = view.line;
  const attempt = async (work: Promise<unknown>) => {
    try {
      await work;
      setError("");
      reload();
    } catch (problem) {
      setError((problem as Error).message);
    }
  };
  const where = `machines/${encodeURIComponent(key)}/quarantine`;
  if (!quarantine && !trouble && !allowed && !view.quarantines.length) return null;
  return (
    <section class="panel section" aria-labelledby="quarantine">
      <h2 id="quarantine">Quarantine</h2>
      {quarantine ? (
        <p class="caution">
          In quarantine since {date(quarantine.since)}
          {quarantine.until !== null && ` until ${date(quarantine.until)}`}: {quarantine.reason || "no reason given"}
          {quarantine.who && ` (${quarantine.who})`}. Its results are kept and marked, but not judged.
        </p>
      ) : (
        <p class={trouble ? "caution" : "soft"}>
          {trouble
            ? `Out of its usual: ${trouble}. Consider a quarantine: results are then kept and marked, but not judged.`
            : "Not in quarantine. Results of a machine in quarantine are kept and marked, but not judged."}
        </p>
      )}
      {allowed &&
        (quarantine ? (
          <p>
            <button type="button" class="main" onClick={() => void attempt(send("DELETE", where))}>
              Release
            </button>
          </p>
        ) : (
          <Form trouble={trouble} hold={(body) => void attempt(send("PUT", where, body))} />
        ))}
      {error && <Problem error={error} />}
      {view.quarantines.length > 0 && (
        <Table
          caption="Quarantines of this machine"
          columns={COLUMNS}
          rows={view.quarantines}
          keyOf={(one) => String(one.since)}
          few={5}
          cards
        />
      )}
    </section>
  );
}

interface Body {
  reason: string;
  since?: number;
  until?: number;
}

function Form({ trouble, hold }: { trouble: string; hold: (body: Body) => void }) {
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const instant = (name: string) => {
      const text = String(given.get(name) ?? "");
      return text ? new Date(text).getTime() : undefined;
    };
    const [since, until] = [instant("since"), instant("until")];
    hold({
      reason: String(given.get("reason") ?? "").trim(),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
    });
  };
  return (
    <form class="row quarantine-form" onSubmit={submit}>
      <label class="field grow">
        Reason
        <input name="reason" required maxLength={500} defaultValue={trouble} placeholder="Fan replaced" />
      </label>
      <label class="field">
        Since (default: now)
        <input name="since" type="datetime-local" step="1" />
      </label>
      <label class="field">
        Until (optional)
        <input name="until" type="datetime-local" step="1" />
      </label>
      <button type="submit">Put into quarantine</button>
    </form>
  );
}

function Reason({ one }: { one: QuarantineLine }) {
  if (!one.finding || !isThere(`findings/${one.finding}`)) return <>{one.reason}</>;
  return (
    <>
      {one.reason} <a href={href("findings", [one.finding])}>Finding</a>
    </>
  );
}

const COLUMNS: Column<QuarantineLine>[] = [
  { name: "since", head: "Since", heads: true, cell: (one) => <span class="nowrap">{date(one.since)}</span> },
  { name: "until", head: "Until", cell: (one) => (one.until === null ? "until released" : date(one.until)) },
  { name: "reason", head: "Reason", wide: true, cell: (one) => <Reason one={one} /> },
  { name: "who", head: "Decided by", cell: (one) => one.who },
  { name: "released", head: "Released by", cell: (one) => one.released_by },
];
