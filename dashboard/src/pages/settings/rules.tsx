// Thresholds and mutes: which changes are not reported. Both say what they would have done before they are kept.
// In the address: case and metric, of which somebody wants a rule (a finding's page leads here so).

import { useState } from "preact/hooks";
import { send, useData, useLast, type Query } from "../../api";
import { percent } from "../../parts/format";
import { Answered, Problem } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { When } from "../../parts/when";
import type { Route } from "../../route";
import type { MuteLine, RulesPage, ThresholdLine } from "../../shapes";
import { percentOf, shareOf, useActions, type Actions } from "./actions";
import { CaseField, RuleForm, SmallestField } from "./form";

export function Rules({ route: { query } }: { route: Route }) {
  const actions = useActions();
  const answer = useLast(useData<RulesPage>("rules", {}, actions.again));
  return (
    <>
      {actions.error && <Problem error={actions.error} />}
      <Answered answer={answer}>
        {(page) => (
          <div class="stack">
            <datalist id="settings-cases">
              {page.cases.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
            <Thresholds key={`t ${query["case"]}`} page={page} actions={actions} query={query} />
            <Mutes key={`m ${query["case"]}`} page={page} actions={actions} query={query} />
          </div>
        )}
      </Answered>
    </>
  );
}

interface Given {
  page: RulesPage;
  actions: Actions;
  query: Query;
}

// ---- thresholds ----

function Thresholds({ page, actions, query }: Given) {
  const [edited, setEdited] = useState<ThresholdLine | null>(null);
  const remove = ({ case: name, metric }: ThresholdLine) =>
    actions.act(() => send("POST", "store/drop_threshold", { case: name, metric }));
  const buttons: Column<ThresholdLine> = {
    name: "actions",
    head: "Actions",
    cell: (line) => (
      <span class="row">
        <button type="button" aria-label={`Change the threshold of ${line.case}`} onClick={() => setEdited(line)}>
          Change
        </button>
        <button
          type="button"
          aria-label={`Remove the threshold of ${line.case}`}
          onClick={() => confirm(`Remove the threshold of ${line.case}?`) && void remove(line)}
        >
          Remove
        </button>
      </span>
    ),
  };
  return (
    <section class="stack-tight" aria-labelledby="thresholds">
      <h2 id="thresholds">Thresholds</h2>
      <p class="soft">
        The smallest change that is reported. Where none fits it is {percent(page.usual)}. A name counts before one with
        *, a metric before every metric.
      </p>
      {page.thresholds.length > 0 && (
        <Table
          caption="Thresholds"
          columns={[...THRESHOLDS, buttons]}
          rows={page.thresholds}
          keyOf={(line) => `${line.case} ${line.metric}`}
          sorted="case"
          cards
        />
      )}
      <ThresholdForm
        key={edited ? `${edited.case} ${edited.metric}` : ""}
        edited={edited}
        query={query}
        page={page}
        actions={actions}
        done={() => setEdited(null)}
      />
    </section>
  );
}

const THRESHOLDS: Column<ThresholdLine>[] = [
  { name: "case", head: "Cases", heads: true, wide: true, by: (line) => line.case, cell: (line) => line.case },
  { name: "metric", head: "Metric", by: (line) => line.metric, cell: (line) => line.metric || "every metric" },
  {
    name: "smallest",
    head: "From",
    number: true,
    by: (line) => line.smallest,
    cell: (line) => `${percentOf(line.smallest)} %`,
  },
];

interface ThresholdFormProps extends Given {
  edited: ThresholdLine | null;
  done: () => void;
}

function ThresholdForm({ edited, page, actions, query: given, done }: ThresholdFormProps) {
  const [name, setName] = useState(edited?.case ?? given["case"] ?? "");
  const [metric, setMetric] = useState(edited?.metric ?? given["metric"] ?? "");
  const [least, setLeast] = useState(edited ? percentOf(edited.smallest) : "");
  const smallest = shareOf(least);
  const query =
    name.trim() && smallest !== null
      ? { kind: "threshold", case: name.trim(), metric, smallest: String(smallest) }
      : null;
  const keep = async () => {
    if (smallest === null) return;
    const threshold = { case: name.trim(), metric, smallest };
    if (!(await actions.act(() => send("POST", "store/set_threshold", { threshold })))) return;
    setName("");
    setLeast("");
    done();
  };
  return (
    <RuleForm
      name="Threshold"
      title={edited ? `Change the threshold of ${edited.case}` : "Add a threshold"}
      query={query}
      names="What would not have been told"
      keep={keep}
      ready={query !== null && !actions.busy}
      cancel={edited ? done : undefined}
    >
      <div class="row filters">
        <CaseField label="Cases" value={name} change={setName} fixed={edited !== null} />
        <label class="field">
          Metric
          <select value={metric} disabled={edited !== null} onChange={(event) => setMetric(event.currentTarget.value)}>
            <option value="">every metric</option>
            {page.metrics.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <SmallestField value={least} change={setLeast} />
      </div>
    </RuleForm>
  );
}

// ---- mutes ----

function Mutes({ page, actions, query }: Given) {
  const [edited, setEdited] = useState<MuteLine | null>(null);
  const end = ({ what }: MuteLine) => actions.act(() => send("POST", "store/unmute", { what }));
  const buttons: Column<MuteLine> = {
    name: "actions",
    head: "Actions",
    cell: (line) => (
      <span class="row">
        <button type="button" aria-label={`Change the mute of ${line.what}`} onClick={() => setEdited(line)}>
          Change
        </button>
        <button
          type="button"
          aria-label={`End the mute of ${line.what}`}
          onClick={() => confirm(`Report changes of ${line.what} again?`) && void end(line)}
        >
          End
        </button>
      </span>
    ),
  };
  return (
    <section class="stack-tight" aria-labelledby="mutes">
      <h2 id="mutes">Mutes</h2>
      <p class="soft">Nothing is reported of these series and cases. What happens meanwhile is not kept as findings.</p>
      {page.mutes.length > 0 && (
        <Table
          caption="Mutes"
          columns={[...MUTES, buttons]}
          rows={page.mutes}
          keyOf={(line) => line.what}
          sorted="what"
          cards
        />
      )}
      <MuteForm
        key={edited?.what ?? ""}
        edited={edited}
        actions={actions}
        given={query["case"] ?? ""}
        done={() => setEdited(null)}
      />
    </section>
  );
}

const MUTES: Column<MuteLine>[] = [
  { name: "what", head: "Muted", heads: true, by: (line) => line.what, cell: (line) => line.what },
  { name: "reason", head: "Why", wide: true, cell: (line) => line.reason },
  { name: "who", head: "By", by: (line) => line.who, cell: (line) => line.who },
  { name: "at", head: "Since", by: (line) => line.at, cell: (line) => (line.at ? <When at={line.at} /> : "") },
];

interface MuteFormProps {
  edited: MuteLine | null;
  actions: Actions;
  given: string;
  done: () => void;
}

function MuteForm({ edited, actions, given, done }: MuteFormProps) {
  const [what, setWhat] = useState(edited?.what ?? given);
  const [reason, setReason] = useState(edited?.reason ?? "");
  const keep = async () => {
    const mute = { what: what.trim(), reason };
    if (!(await actions.act(() => send("POST", "store/mute", { mute })))) return;
    setWhat("");
    setReason("");
    done();
  };
  return (
    <RuleForm
      name="Mute"
      title={edited ? `Change the mute of ${edited.what}` : "Mute cases or a series"}
      query={what.trim() ? { kind: "mute", what: what.trim() } : null}
      names="What would not have been told"
      keep={keep}
      ready={Boolean(what.trim()) && !actions.busy}
      add="Mute"
      cancel={edited ? done : undefined}
    >
      <div class="row filters">
        <CaseField label="Cases, or the key of a series" value={what} change={setWhat} fixed={edited !== null} />
        <label class="field grow">
          Why
          <input value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
      </div>
    </RuleForm>
  );
}
