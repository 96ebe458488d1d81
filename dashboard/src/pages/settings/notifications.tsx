// Who is told of findings: the targets of the server's file, and those that are kept here. Secrets are named, never shown.

import { useState } from "preact/hooks";
import { send, useData, useLast } from "../../api";
import { count } from "../../parts/format";
import { Answered, Empty, Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import type { RulePreview, TargetLine, TargetsPage } from "../../shapes";
import { percentOf, shareOf, useActions, type Actions } from "./actions";
import { CaseField, RuleForm, SmallestField } from "./form";

interface TestResult {
  sent: boolean;
  why: string;
}

export function Notifications() {
  const actions = useActions();
  const [edited, setEdited] = useState<TargetLine | null>(null);
  const [tested, setTested] = useState<{ [id: number]: TestResult | "waiting" }>({});
  const answer = useLast(useData<TargetsPage>("notify-targets", {}, actions.again));
  const test = async ({ id }: TargetLine) => {
    setTested((before) => ({ ...before, [id]: "waiting" }));
    const result = await send<TestResult>("POST", `notify-targets/${id}/test`).catch((problem: Error) => ({
      sent: false,
      why: problem.message,
    }));
    setTested((before) => ({ ...before, [id]: result }));
  };
  const remove = (target: TargetLine) => actions.act(() => send("DELETE", `notify-targets/${target.id}`));
  const buttons: Column<TargetLine> = {
    name: "actions",
    head: "Actions",
    cell: (target) =>
      target.id === 0 ? (
        <span class="soft">in benchwright.toml</span>
      ) : (
        <div class="stack-tight">
          <span class="row">
            <button type="button" disabled={tested[target.id] === "waiting"} onClick={() => void test(target)}>
              Send a test message
            </button>
            <button type="button" aria-label={`Change ${target.address}`} onClick={() => setEdited(target)}>
              Change
            </button>
            <button
              type="button"
              aria-label={`Remove ${target.address}`}
              onClick={() => confirm(`Tell ${target.address} no more?`) && void remove(target)}
            >
              Remove
            </button>
          </span>
          <Tested result={tested[target.id]} />
        </div>
      ),
  };
  return (
    <>
      {actions.error && <Problem error={actions.error} />}
      <Answered answer={answer}>
        {(page) => (
          <div class="stack">
            {page.targets.length ? (
              <Table
                caption="Targets"
                columns={[...COLUMNS, buttons]}
                rows={page.targets}
                keyOf={(target) => `${target.id} ${target.address}`}
                cards
              />
            ) : (
              <Empty title="No notification targets yet." />
            )}
            <TargetForm
              key={edited?.id ?? 0}
              edited={edited}
              prefix={page.prefix}
              actions={actions}
              done={() => setEdited(null)}
            />
          </div>
        )}
      </Answered>
    </>
  );
}

function Tested({ result }: { result: TestResult | "waiting" | undefined }) {
  return (
    <span role="status">
      {result === "waiting" && "Sending…"}
      {typeof result === "object" && (
        <span class={result.sent ? "better" : "worse"}>
          {result.sent ? "Sent" : "Not sent"}: {result.why}
        </span>
      )}
    </span>
  );
}

const COLUMNS: Column<TargetLine>[] = [
  { name: "address", head: "Target", heads: true, cell: (target) => <code>{target.address}</code> },
  { name: "what", head: "Is told of", cell: (target) => what(target) },
  { name: "lately", head: "In the last 90 days", wide: true, cell: (target) => often(target.preview) },
];

/** How often a target would have been told lately: findings of one cause are one message. */
export function often({ times, told }: Pick<RulePreview, "times" | "told">): string {
  return times ? `told ${count(times, "time")}, of ${count(told, "change")}` : "told of nothing";
}

/** Which findings a target is told of, in words. */
export function what({ verdicts, cases, smallest }: Pick<TargetLine, "verdicts" | "cases" | "smallest">): string {
  const least = smallest > 0 ? ` from ${percentOf(smallest)} %` : "";
  return `${verdicts.join(" and ")}${least} in ${cases === "*" ? "every case" : cases}`;
}

interface TargetFormProps {
  edited: TargetLine | null;
  prefix: string;
  actions: Actions;
  done: () => void;
}

function TargetForm({ edited, prefix, actions, done }: TargetFormProps) {
  const [address, setAddress] = useState("");
  const [verdicts, setVerdicts] = useState<readonly string[]>(edited?.verdicts ?? ["worse"]);
  const [cases, setCases] = useState(edited?.cases ?? "*");
  const [least, setLeast] = useState(edited ? percentOf(edited.smallest) : "0");
  const smallest = shareOf(least);
  const ready = smallest !== null && cases.trim() && verdicts.length > 0;
  const query = ready
    ? {
        kind: "target",
        case: cases.trim(),
        smallest: String(smallest),
        verdict: verdicts.length > 1 ? "both" : verdicts[0],
      }
    : null;
  const keep = async () => {
    const rest = { verdicts, cases: cases.trim(), smallest };
    const kept = await actions.act(() =>
      edited
        ? send("PATCH", `notify-targets/${edited.id}`, address.trim() ? { ...rest, address: address.trim() } : rest)
        : send("POST", "notify-targets", { ...rest, address: address.trim() }),
    );
    if (!kept) return;
    setAddress("");
    done();
  };
  return (
    <RuleForm
      name="Target"
      heading="h2"
      title={edited ? `Change ${edited.address}` : "Add a target"}
      query={query}
      names="What would have been told"
      keep={keep}
      ready={Boolean(ready) && !actions.busy && Boolean(edited || address.trim())}
      cancel={edited ? done : undefined}
    >
      <label class="field">
        {edited ? "Another address (stays as it is when empty)" : "Address"}
        <input
          required={!edited}
          maxLength={1000}
          autocomplete="off"
          spellcheck={false}
          placeholder="github://owner/name"
          aria-describedby="target-help"
          value={address}
          onInput={(event) => setAddress(event.currentTarget.value)}
        />
      </label>
      <p id="target-help" class="soft">
        <code>github://owner/name</code>, <code>gitlab://group/name</code> or <code>webhook+https://host/path</code>.
        Slack, mail and the like are named whole: <code>{`\${${prefix}SLACK}`}</code> is a variable that is set where
        the server runs. Secrets in an address are named so, too. None is kept here.
      </p>
      <div class="row filters">
        <fieldset class="row settings-verdicts">
          <legend>Notify when something became</legend>
          {["worse", "better"].map((verdict) => (
            <label key={verdict}>
              <input
                type="checkbox"
                checked={verdicts.includes(verdict)}
                onChange={() =>
                  setVerdicts(["worse", "better"].filter((one) => verdicts.includes(one) !== (one === verdict)))
                }
              />{" "}
              {verdict}
            </label>
          ))}
        </fieldset>
        <CaseField label="Cases" value={cases} change={setCases} />
        <SmallestField value={least} change={setLeast} />
      </div>
    </RuleForm>
  );
}
