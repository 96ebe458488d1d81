// Lab: #/lab tells which machines there are and what waits for them, #/lab/machines/NAME all of one machine, and
// #/lab/runs/RUN how far what somebody submitted is. What is shown is asked for again every few seconds.

import { isStatic, useData, useLast } from "../api";
import { Command } from "../parts/copy";
import { useTick } from "../parts/live";
import { Answered, Empty } from "../parts/states";
import type { LabPage as Lab, LabSubmissionView } from "../shapes";
import type { PageProps } from "../shell";
import { useActions, type Actions } from "./settings/actions";
import { LabMachine } from "./lab/machine";
import { LabMachines } from "./lab/machines";
import { Queue } from "./lab/queue";
import { Submission } from "./lab/submission";
import "./lab/lab.css";

const EVERY = 3000; // milliseconds

export function LabPage({ route }: PageProps) {
  const [kind, name] = route.parts;
  const actions = useActions();
  if (isStatic)
    return (
      <Empty title="This is a published copy.">
        <p>The machines of a lab are shown by its server: benchwright serve.</p>
      </Empty>
    );
  return kind === "runs" && name ? <One run={name} actions={actions} /> : <All machine={name} actions={actions} />;
}

function All({ machine, actions }: { machine: string | undefined; actions: Actions }) {
  const answer = useLast(useData<Lab>("lab", {}, useTick(EVERY) + actions.again));
  return (
    <Answered answer={answer}>
      {(lab) =>
        machine ? (
          <LabMachine machine={lab.machines.find((one) => one.name === machine)} name={machine} actions={actions} />
        ) : (
          <Whole lab={lab} actions={actions} />
        )
      }
    </Answered>
  );
}

function Whole({ lab, actions }: { lab: Lab; actions: Actions }) {
  return (
    <div class="stack">
      <h1>Lab</h1>
      {lab.why && (
        <p class="caution" role="status">
          Nothing is running: {lab.why}
        </p>
      )}
      {lab.machines.length ? (
        <LabMachines machines={lab.machines} />
      ) : (
        <Empty title="No machines yet.">
          <p>A machine is offered by an agent that runs on it:</p>
          <Command text={`benchwright agent --server ${location.origin}${location.pathname}`} />
        </Empty>
      )}
      <Queue lab={lab} actions={actions} />
    </div>
  );
}

function One({ run, actions }: { run: string; actions: Actions }) {
  const path = `lab/submissions/${encodeURIComponent(run)}`;
  const answer = useLast(useData<LabSubmissionView>(path, {}, useTick(EVERY) + actions.again));
  return <Answered answer={answer}>{(view) => <Submission view={view} actions={actions} />}</Answered>;
}
