// What waits for a machine, in its order, and why.

import { send } from "../../api";
import { may, useAbout } from "../../parts/about";
import { count, duration } from "../../parts/format";
import { Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { LabJobLine, LabPage } from "../../shapes";
import type { Actions } from "../settings/actions";
import { Past } from "./machines";

export function Queue({ lab, actions }: { lab: LabPage; actions: Actions }) {
  const allowed = may(useAbout(), "write");
  const cancel = (run: string) =>
    confirm(`Cancel all jobs of run ${run}? What was measured is kept.`) &&
    void actions.act(() => send("POST", `lab/submissions/${encodeURIComponent(run)}/cancel`, {}));
  const buttons: Column<LabJobLine> = {
    name: "actions",
    head: "Actions",
    cell: ({ run }) => (
      <button
        type="button"
        class="nowrap"
        disabled={actions.busy}
        aria-label={`Cancel run ${run}`}
        onClick={() => cancel(run)}
      >
        Cancel run
      </button>
    ),
  };
  return (
    <section aria-labelledby="lab-queue">
      <h2 id="lab-queue">Queue</h2>
      {actions.error && <Problem error={actions.error} />}
      {lab.queue.length ? (
        <>
          <Table
            caption="Jobs that wait"
            columns={allowed ? [...COLUMNS, buttons] : COLUMNS}
            rows={lab.queue}
            keyOf={(job) => job.id}
            cards
          />
          {lab.queued > lab.queue.length && (
            <p class="soft small">{count(lab.queued - lab.queue.length, "more job", "more jobs")} behind them.</p>
          )}
        </>
      ) : (
        <p class="soft">Nothing waits.</p>
      )}
    </section>
  );
}

const COLUMNS: Column<LabJobLine>[] = [
  { name: "position", head: "Place", number: true, by: (job) => job.position, cell: (job) => job.position || "–" },
  {
    name: "case",
    head: "Case",
    heads: true,
    wide: true,
    by: (job) => job.case,
    cell: (job) => <a href={href("lab", ["runs", job.run])}>{job.case}</a>,
  },
  { name: "who", head: "Submitted by", by: (job) => job.who, cell: (job) => job.who || <span class="soft">–</span> },
  {
    name: "selector",
    head: "Machines",
    cell: (job) => <code class="small">{job.machine || job.selector || "*"}</code>,
  },
  { name: "priority", head: "Priority", number: true, by: (job) => job.priority, cell: (job) => job.priority },
  {
    name: "submitted",
    head: "Waits since",
    by: (job) => job.submitted_at,
    cell: (job) => <Past at={job.submitted_at} />,
  },
  { name: "wait", head: "Begins", wide: true, by: (job) => job.wait, cell: (job) => <Begins job={job} /> },
];

/** When a job begins, as far as that is known, or why it does not. */
export function Begins({ job }: { job: LabJobLine }) {
  const attempt = job.attempt > 0 ? `attempt ${job.attempt + 1}` : "";
  const text = [
    job.wait === null ? "" : `in about ${duration(Math.max(1, Math.round(job.wait)))}`,
    job.reason,
    attempt,
  ];
  return <span class="soft">{text.filter(Boolean).join("; ") || "–"}</span>;
}
