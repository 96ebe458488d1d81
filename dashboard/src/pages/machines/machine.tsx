// One machine: facts, noise, what fails there, and the series it measures.

import { isStatic, useData } from "../../api";
import { StatusBadge } from "../../parts/badges";
import { CopyLink } from "../../parts/copy";
import { Fact, Facts } from "../../parts/facts";
import { ago, paramsText, percent, value } from "../../parts/format";
import { Spark } from "../../parts/spark";
import { Answered } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { href } from "../../route";
import type { Failing, FindingLine, MachineLine, Overview, SeriesLine, SeriesPage } from "../../shapes";
import { useFindings } from "../findings/chosen";
import { noiseText } from "./list";
import { NoiseChart } from "./noise";

const SERIES = 500; // at most
const FEW = 15; // at first
const OPEN = ["open"] as const;

export function MachineView({ machine }: { machine: MachineLine }) {
  useTitle(machine.name || machine.key);
  return (
    <div class="stack">
      <Head machine={machine} />
      <Fails machine={machine.key} />
      {machine.noise.at.length > 0 && (
        <section class="panel section" aria-labelledby="noise">
          <h2 id="noise">Noise over time</h2>
          <NoiseChart machines={[machine]} height={220} />
        </section>
      )}
      {Object.keys(machine.calibration).length > 0 && (
        <section class="panel section" aria-labelledby="alarms">
          <h2 id="alarms">False alarms here</h2>
          <Facts facts={machine.calibration} label="What gates do on this machine when nothing changed" />
        </section>
      )}
      <section class="panel section" aria-labelledby="facts">
        <h2 id="facts">What it is</h2>
        <Facts facts={machine.facts} label="Facts of the machine" />
      </section>
      <Series machine={machine.key} />
    </div>
  );
}

function Head({ machine }: { machine: MachineLine }) {
  const open = useFindings(OPEN).data?.findings.filter((one) => one.machine === machine.key) ?? [];
  const worse = open.filter((one) => one.verdict === "worse");
  return (
    <header class="machine-head">
      <div class="row">
        <h1>{machine.name || machine.key}</h1>
        <span class="row push">
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
            <a href={href("runs", [], { machine: machine.key })}>its runs</a>
          </Fact>
        )}
      </dl>
    </header>
  );
}

function Open({ machine, open, worse }: { machine: string; open: FindingLine[]; worse: FindingLine[] }) {
  if (!open.length) return <>none</>;
  return <a href={href("findings", [], { state: "open", machine })}>{`${open.length}, ${worse.length} worse`}</a>;
}

// ---- what fails ----

function Fails({ machine }: { machine: string }) {
  const failing = useData<Overview>("overview").data?.failing.filter((one) => one.machine === machine) ?? [];
  if (!failing.length) return null;
  return (
    <section class="section" aria-labelledby="fails">
      <h2 id="fails">Failing here</h2>
      <Table
        caption="What gives no numbers on this machine"
        columns={FAILING}
        rows={failing}
        keyOf={(one) => `${one.case} ${one.status}`}
        cards
      />
    </section>
  );
}

const FAILING: Column<Failing>[] = [
  { name: "case", head: "Case", heads: true, cell: (f) => <a href={href("runs", [f.run])}>{f.case}</a> },
  { name: "status", head: "Status", cell: (f) => <StatusBadge status={f.status} count={f.count} /> },
  { name: "reason", head: "Why", wide: true, cell: (f) => f.reason },
  { name: "at", head: "Last", cell: (f) => <span class="nowrap">{ago(f.at)}</span> },
];

// ---- series ----

function Series({ machine }: { machine: string }) {
  const answer = useData<SeriesPage>("series", { machine, limit: String(SERIES) });
  return (
    <section class="section" aria-labelledby="series">
      <div class="row">
        <h2 id="series">Series</h2>
        <a href={href("series", [], { machine })}>All of its series</a>
      </div>
      <Answered answer={answer}>
        {({ series }) => {
          const rows = series.filter((one) => one.machine === machine).sort(byInterest);
          if (!rows.length) return <p class="soft">It has no series: nothing it measured gave numbers.</p>;
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
    </section>
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
  { name: "last", head: "Newest", number: true, by: (one) => one.last, cell: (one) => value(one.last, one.unit) },
  { name: "spark", head: "Lately", cell: (one) => <Spark values={one.spark} /> },
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
