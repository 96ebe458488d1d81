// One machine of the lab: what it is and does; for those who may, drain, quarantine and reservation.

import { send } from "../../api";
import { may, useAbout } from "../../parts/about";
import { CopyLink } from "../../parts/copy";
import { Fact, Facts } from "../../parts/facts";
import { Fold } from "../../parts/fold";
import { Empty, Problem } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { href } from "../../route";
import type { LabMachineLine } from "../../shapes";
import type { Actions } from "../settings/actions";
import { Doing, isReserved, Past, Reserved } from "./machines";
import { MachineState } from "./state";

interface MachineProps {
  machine: LabMachineLine | undefined;
  name: string;
  actions: Actions;
}

export function LabMachine({ machine, name, actions }: MachineProps) {
  useTitle(name);
  if (!machine)
    return (
      <Empty title={`The lab has no machine ${name}.`}>
        <p>
          <a href={href("lab")}>All machines of the lab</a>
        </p>
      </Empty>
    );
  return (
    <div class="stack">
      <header class="machine-head">
        <div class="row">
          <h1>{machine.name}</h1>
          <MachineState state={machine.state} />
          <span class="row push">
            <a href={href("lab")}>All of the lab</a>
            {machine.key && <a href={href("machines", [machine.key])}>Results and health</a>}
            <CopyLink />
          </span>
        </div>
        <dl class="facts">
          <Fact name="Doing">
            <Doing machine={machine} />
          </Fact>
          {machine.job?.leased_at ? (
            <Fact name="Since">
              <Past at={machine.job.leased_at} />
            </Fact>
          ) : null}
          {isReserved(machine) && (
            <Fact name="Reserved for">
              <Reserved machine={machine} />
            </Fact>
          )}
          <Fact name="Agent">
            {machine.agent} <span class="soft">{machine.version}</span>
          </Fact>
          <Fact name="Last heard of">
            <Past at={machine.seen_at} />
          </Fact>
        </dl>
      </header>
      <Changes machine={machine} actions={actions} />
      <Fold id="lab-facts" title="Facts and labels" panel>
        <Facts facts={{ ...machine.facts, ...labelled(machine.labels) }} label="What a selector can ask for" />
      </Fold>
    </div>
  );
}

function labelled(labels: { [name: string]: string }): { [name: string]: string } {
  return Object.fromEntries(Object.entries(labels).map(([name, text]) => [`label ${name}`, text || "set"]));
}

function Changes({ machine, actions }: { machine: LabMachineLine; actions: Actions }) {
  const about = useAbout();
  const change = (action: string, body: object = {}) =>
    actions.act(() => send("POST", `lab/machines/${encodeURIComponent(machine.name)}/${action}`, body));
  if (!may(about, "triage")) return null;
  const isHeld = machine.reason !== "" || ["draining", "drained", "quarantined"].includes(machine.state);
  const forget = async () => {
    const path = `lab/machines/${encodeURIComponent(machine.name)}`;
    const asked = `Forget ${machine.name}? Its results stay. An agent that still offers it brings it back.`;
    if (confirm(asked) && (await actions.act(() => send("DELETE", path)))) location.hash = href("lab");
  };
  return (
    <section class="panel section stack-tight" aria-labelledby="lab-changes">
      <h2 id="lab-changes">Who may use it</h2>
      {actions.error && <Problem error={actions.error} />}
      {may(about, "write") &&
        (isReserved(machine) ? (
          <Press busy={actions.busy} press={() => void change("release")}>
            End the reservation
          </Press>
        ) : (
          <Form name="Reserve for me" needsEnd busy={actions.busy} submit={(body) => change("reserve", body)} />
        ))}
      {isHeld ? (
        <Press busy={actions.busy} press={() => void change("resume")}>
          Let it take work again
        </Press>
      ) : (
        <>
          <Form name="Drain" needsReason busy={actions.busy} submit={(body) => change("drain", body)} />
          <Form
            name="Put into quarantine"
            needsReason
            busy={actions.busy}
            submit={(body) => change("quarantine", body)}
          />
        </>
      )}
      {machine.state === "away" && (
        <p>
          <button type="button" disabled={actions.busy} onClick={() => void forget()}>
            Forget this machine
          </button>
        </p>
      )}
    </section>
  );
}

function Press({ busy, press, children }: { busy: boolean; press: () => void; children: string }) {
  return (
    <p>
      <button type="button" class="main" disabled={busy} onClick={press}>
        {children}
      </button>
    </p>
  );
}

interface FormProps {
  name: string;
  needsReason?: boolean;
  needsEnd?: boolean;
  busy: boolean;
  submit: (body: { reason: string; until?: number }) => Promise<boolean>;
}

/** Why, and until when. */
function Form({ name, needsReason, needsEnd, busy, submit }: FormProps) {
  const send = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const end = String(given.get("until") ?? "");
    const body = {
      reason: String(given.get("reason") ?? "").trim(),
      ...(end ? { until: new Date(end).getTime() } : {}),
    };
    if (await submit(body)) form.reset();
  };
  return (
    <form class="row lab-form" aria-label={name} onSubmit={(event) => void send(event)}>
      <label class="field grow">
        Reason{needsReason ? "" : " (optional)"}
        <input name="reason" required={needsReason} maxLength={500} />
      </label>
      <label class="field">
        Until{needsEnd ? "" : " (optional)"}
        <input name="until" type="datetime-local" required={needsEnd} />
      </label>
      <button type="submit" disabled={busy}>
        {name}
      </button>
    </form>
  );
}
