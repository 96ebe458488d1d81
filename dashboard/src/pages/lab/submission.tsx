// What somebody submitted: each of its jobs, where it stands, and why.

import { send } from "../../api";
import { may, useAbout } from "../../parts/about";
import { CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import { count } from "../../parts/format";
import { Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { href } from "../../route";
import type { LabJobLine, LabSubmissionView } from "../../shapes";
import type { Actions } from "../settings/actions";
import { Past } from "./machines";
import { Begins } from "./queue";
import { JobState } from "./state";

const OPEN = ["queued", "leased"];

export function Submission({ view, actions }: { view: LabSubmissionView; actions: Actions }) {
  useTitle(view.run);
  const about = useAbout();
  const open = view.jobs.filter((job) => OPEN.includes(job.state)).length;
  const cancel = () =>
    confirm(`Cancel all jobs of run ${view.run}? What was measured is kept.`) &&
    void actions.act(() => send("POST", `lab/submissions/${encodeURIComponent(view.run)}/cancel`, {}));
  return (
    <div class="stack">
      <header class="machine-head">
        <div class="row">
          <h1>{view.run}</h1>
          <JobState state={view.state} />
          <span class="row push">
            <a href={href("lab")}>All of the lab</a>
            <a href={href("runs", [view.run])}>Results</a>
            <CopyLink />
          </span>
        </div>
        <dl class="facts">
          <Fact name="Submitted by">{view.who || "–"}</Fact>
          <Fact name="At">
            <When at={view.submitted_at} />
          </Fact>
          <Fact name="Machines">
            {view.where === "each" ? "each of" : "any of"} <code>{view.selector || "*"}</code>
          </Fact>
          <Fact name="Priority">{view.priority}</Fact>
          <Fact name="Jobs">
            {count(view.jobs.length, "job")}
            {open > 0 && `, ${open} to do`}
          </Fact>
        </dl>
      </header>
      {actions.error && <Problem error={actions.error} />}
      {open > 0 && may(about, "write") && (
        <p>
          <button type="button" disabled={actions.busy} onClick={cancel}>
            Cancel run
          </button>
        </p>
      )}
      <Table
        caption={`Jobs of ${view.run}`}
        columns={COLUMNS}
        rows={view.jobs}
        keyOf={(job) => job.id}
        few={50}
        cards
      />
    </div>
  );
}

const COLUMNS: Column<LabJobLine>[] = [
  { name: "case", head: "Case", heads: true, wide: true, by: (job) => job.case, cell: (job) => job.case },
  { name: "state", head: "State", by: (job) => job.state, cell: (job) => <JobState state={job.state} /> },
  {
    name: "machine",
    head: "Machine",
    by: (job) => job.machine || null,
    cell: (job) =>
      job.machine ? <a href={href("lab", ["machines", job.machine])}>{job.machine}</a> : <span class="soft">–</span>,
  },
  { name: "since", head: "Since", by: (job) => sinceOf(job) || null, cell: (job) => <Past at={sinceOf(job)} /> },
  { name: "attempt", head: "Attempts", number: true, by: (job) => job.attempt, cell: (job) => job.attempt },
  {
    name: "how",
    head: "Progress",
    cell: (job) =>
      job.state === "queued" ? <Begins job={job} /> : <span class="soft">{job.phase || job.reason || "–"}</span>,
  },
];

function sinceOf(job: LabJobLine): number {
  return job.ended_at || job.leased_at || job.submitted_at;
}
