// One machine: facts, noise, what fails there, and the series it measures.

import { isStatic, useData } from "../../api";
import { HealthBadge, StatusBadge } from "../../parts/badges";
import { CopyLink } from "../../parts/copy";
import { Fact, Facts, flat } from "../../parts/facts";
import { Fold } from "../../parts/fold";
import { ago, paramsText, percent, value } from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Answered } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { href, listed } from "../../route";
import type {
  Failing,
  FindingLine,
  LabPage,
  MachineLine,
  Overview,
  SeriesLine,
  SeriesPage,
  MachineView as View,
} from "../../shapes";
import { FINDINGS, useList } from "../findings/chosen";
import { noiseText } from "./list";
import { Control } from "./control";
import { Health } from "./health";
import { Quarantine } from "./quarantine";

const SERIES = 500; // at most
const FEW = 15; // at first

export function MachineView({ view, reload }: { view: View; reload: () => void }) {
  const machine = view.line;
  useTitle(machine.name || machine.key);
  return (
    <div class="stack">
      <Head machine={machine} />
      <Quarantine view={view} reload={reload} />
      <Health view={view} />
      <Control view={view} />
      <Fails machine={machine.key} />
      {Object.keys(machine.calibration).length > 0 && (
        <Fold id="alarms" title="False alarm rate" panel>
          <Facts facts={machine.calibration} label="Verdicts on this machine when nothing changed" />
        </Fold>
      )}
      <Fold id="facts" title="Hardware and software" count={flat({ ...machine.facts }).length} panel>
        <Facts facts={machine.facts} label="Hardware and software" />
      </Fold>
      <Series machine={machine.key} />
    </div>
  );
}

function Head({ machine }: { machine: MachineLine }) {
  const open = useList(FINDINGS, { state: "open", machines: listed([machine.key]) }).data?.rows ?? [];
  const inLab = useData<LabPage>(isStatic ? null : "lab").data?.machines.find((one) => one.key === machine.key);
  const worse = open.filter((one) => one.verdict === "worse");
  return (
    <header class="machine-head">
      <div class="row">
        <h1>{machine.name || machine.key}</h1>
        <HealthBadge trouble={machine.trouble} quarantine={machine.quarantine} />
        <span class="row push">
          {inLab && <a href={href("lab", ["machines", inLab.name])}>In the lab</a>}
          <a href={href("machines")}>All machines</a>
          <CopyLink />
        </span>
      </div>
      <dl class="facts">
        <Fact name="Results">{machine.results.toLocaleString("en-US")}</Fact>
        <Fact name="Failed">
          {machine.failed.toLocaleString("en-US")}{" "}
          {machine.failed > 0 && <span class="soft">({percent(machine.failed / machine.results)})</span>}
        </Fact>
        <Fact name="Cases">{machine.cases}</Fact>
        <Fact name="Noise">{noiseText(machine)}</Fact>
        <Fact name="First measured">
          <When at={machine.first_at} />
        </Fact>
        <Fact name="Last measured">
          <When at={machine.last_at} />
        </Fact>
        <Fact name="Open findings">
          <Open machine={machine.key} open={open} worse={worse} />
        </Fact>
        {!isStatic && (
          <Fact name="Runs">
            <a href={href("runs", [], { machine: machine.key })}>Show runs</a>
          </Fact>
        )}
      </dl>
    </header>
  );
}

function Open({ machine, open, worse }: { machine: string; open: readonly FindingLine[]; worse: FindingLine[] }) {
  if (!open.length) return <>none</>;
  return (
    <a
      href={href("findings", [], { state: "open", machine, each: "yes" })}
    >{`${open.length}, ${worse.length} worse`}</a>
  );
}

// ---- what fails ----

function Fails({ machine }: { machine: string }) {
  const failing = useData<Overview>("overview").data?.failing.filter((one) => one.machine === machine) ?? [];
  if (!failing.length) return null;
  return (
    <Fold id="fails" title="Failing cases" count={failing.length} open>
      <Table
        caption="Failing cases on this machine"
        columns={FAILING}
        rows={failing}
        keyOf={(one) => `${one.case} ${one.status}`}
        cards
      />
    </Fold>
  );
}

const FAILING: Column<Failing>[] = [
  { name: "case", head: "Case", heads: true, cell: (f) => <a href={href("runs", [f.run])}>{f.case}</a> },
  { name: "status", head: "Status", cell: (f) => <StatusBadge status={f.status} count={f.count} /> },
  { name: "reason", head: "Reason", wide: true, cell: (f) => f.reason },
  { name: "at", head: "Last seen", cell: (f) => <span class="nowrap">{ago(f.at)}</span> },
];

// ---- series ----

function Series({ machine }: { machine: string }) {
  const answer = useData<SeriesPage>("series", { machine, limit: String(SERIES) });
  const known = answer.data?.series.filter((one) => one.machine === machine).length;
  return (
    <Fold
      id="series"
      title="Series"
      aside={<a href={href("series", [], { machine })}>All series</a>}
      {...(known === undefined ? {} : { count: known })}
    >
      <Answered answer={answer}>
        {({ series }) => {
          const rows = series.filter((one) => one.machine === machine).sort(byInterest);
          if (!rows.length) return <p class="soft">No series: none of its results has metrics.</p>;
          return (
            <Table
              caption="Series of this machine"
              columns={COLUMNS}
              rows={rows}
              keyOf={(one) => one.key + one.unit}
              few={FEW}
              cards
            />
          );
        }}
      </Answered>
    </Fold>
  );
}

const COLUMNS: Column<SeriesLine>[] = [
  {
    name: "case",
    head: "Case",
    heads: true,
    wide: true,
    by: (one) => one.case + paramsText(one.params),
    cell: (one) => <Case one={one} />,
  },
  { name: "metric", head: "Metric", by: (one) => one.metric, cell: (one) => one.metric },
  { name: "last", head: "Latest", number: true, by: (one) => one.last, cell: (one) => value(one.last, one.unit) },
  { name: "spark", head: "Trend", cell: (one) => <Spark values={one.spark} /> },
  {
    name: "count",
    head: "Points",
    number: true,
    by: (one) => one.count,
    cell: (one) => one.count.toLocaleString("en-US"),
  },
  {
    name: "at",
    head: "Measured",
    by: (one) => one.last_at,
    cell: (one) => <span class="nowrap">{ago(one.last_at)}</span>,
  },
];

/** Those with open findings first, then by name. */
function byInterest(a: SeriesLine, b: SeriesLine): number {
  const name = ({ case: text, params, metric }: SeriesLine) => `${text} ${paramsText(params)} ${metric}`;
  return b.findings.length - a.findings.length || name(a).localeCompare(name(b), "en", { numeric: true });
}

function Case({ one }: { one: SeriesLine }) {
  return (
    <span>
      <a href={href("series", [one.key])}>{one.case}</a> <span class="soft small">{paramsText(one.params)}</span>
    </span>
  );
}
