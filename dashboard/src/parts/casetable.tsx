// The cases of a run in one table: a column for each of the chief metrics; a case opens to show all of them.
//   <CaseTable run={run} query={route.query} next={more} />  all, words, sort and open live in the address

import { isStatic, type Query } from "../api";
import { change, href } from "../route";
import type { CaseLine, RunView, Status } from "../shapes";
import { StatusBadge } from "./badges";
import { Warnings } from "./cautions";
import { count, estimate, interval, paramsText } from "./format";
import { halfWidth, Metrics } from "./metrics";
import { Opener, openRows } from "./opener";
import { Table, type Column } from "./table";
import { hasWords } from "./words";
import "./casetable.css";

const CHIEF = 4; // metrics that are columns at first
const SEARCHED = 8; // cases from which on a search helps

export function CaseTable({ run, query, next }: { run: RunView; query: Query; next: (() => void) | undefined }) {
  const all = run.metrics;
  // A published site has all cases in one piece; a server finds and orders them by itself.
  const found = isStatic ? run.cases.filter((line) => hasWords(line.label, query["words"] ?? "")) : run.cases;
  const { isOpen, toggle } = openRows(query["open"]);
  const name = (line: CaseLine) => <Name line={line} open={isOpen(line.label)} onToggle={() => toggle(line.label)} />;
  const columns: Column<CaseLine>[] = [
    { name: "case", head: "Case", heads: true, by: (line) => line.label, cell: name },
    { name: "status", head: "Status", cell: (line) => <Statuses line={line} /> },
    ...(query["all"] ? all : chiefMetrics(all)).map(metricColumn),
    { name: "rounds", head: "Rounds", cell: (line) => <RoundLinks results={line.results} /> },
  ];
  return (
    <div class="cases">
      <Controls cases={run.case_count} metrics={all} query={query} />
      {found.length ? (
        <Table
          caption="Cases of this run with their metrics"
          columns={columns}
          rows={found}
          keyOf={(line) => line.label}
          more={(line) => isOpen(line.label) && <Whole line={line} />}
          sorted={query["sort"] ?? ""}
          onSort={(sort) => change({ sort }, true)}
          inOrder={!isStatic}
          next={next}
          total={isStatic ? found.length : run.found}
          cards
          scrolls
        />
      ) : (
        <p class="soft">No matching cases.</p>
      )}
    </div>
  );
}

/** The first of the metrics, and what the work costs, where the run has a price. */
export function chiefMetrics(all: readonly string[]): string[] {
  const cost = all.find((name) => name.startsWith("cost_"));
  return [...new Set([...all.slice(0, CHIEF), ...(cost ? [cost] : [])])];
}

/** Every metric: each case names those that are judged first; of two at the same place, what more cases have. */
export function metricNames(cases: readonly CaseLine[]): string[] {
  const seen = new Map<string, number>();
  const place = new Map<string, number>();
  for (const line of cases) {
    line.metrics.forEach(({ name }, i) => {
      seen.set(name, (seen.get(name) ?? 0) + 1);
      place.set(name, Math.min(place.get(name) ?? i, i));
    });
  }
  return [...seen.keys()].sort((a, b) => place.get(a)! - place.get(b)! || seen.get(b)! - seen.get(a)!);
}

export function RoundLinks({ results, here }: { results: readonly string[]; here?: string }) {
  return (
    <span class="round-links">
      {results.map((id, i) => (
        <a
          key={id}
          href={href("results", [id])}
          aria-label={`Result of round ${i + 1}`}
          aria-current={id === here ? "page" : undefined}
        >
          {i + 1}
        </a>
      ))}
    </span>
  );
}

function Controls({ cases, metrics, query }: { cases: number; metrics: readonly string[]; query: Query }) {
  return (
    <div class="row filters cases-controls">
      {cases >= SEARCHED && (
        <label class="field">
          Filter {count(cases, "case")}
          <input
            type="search"
            value={query["words"] ?? ""}
            onInput={(event) => change({ words: event.currentTarget.value }, true)}
          />
        </label>
      )}
      {metrics.length > CHIEF && (
        <button
          type="button"
          aria-pressed={Boolean(query["all"])}
          onClick={() => change({ all: query["all"] ? undefined : "1" }, true)}
        >
          All {metrics.length} metrics
        </button>
      )}
    </div>
  );
}

function metricColumn(name: string): Column<CaseLine> {
  const of = (line: CaseLine) => line.metrics.find((one) => one.name === name);
  return {
    name,
    head: name,
    number: true,
    by: (line) => of(line)?.estimate.point ?? null,
    cell: (line) => <Value metric={of(line)} />,
  };
}

function Value({ metric }: { metric: CaseLine["metrics"][number] | undefined }) {
  if (!metric) return <span class="soft">–</span>;
  return (
    <span title={`± ${halfWidth(metric)}, of ${metric.count}`}>
      {estimate(metric.estimate, metric.unit)}
      <div class="soft small">{interval(metric.estimate, metric.unit)}</div>
    </span>
  );
}

/** A case without numbers says why. */
function Name({ line, open, onToggle }: { line: CaseLine; open: boolean; onToggle: () => void }) {
  return (
    <>
      <Opener open={open} onToggle={onToggle}>
        {line.case} <span class="soft">{[paramsText(line.params), line.machine].filter(Boolean).join(" · ")}</span>
      </Opener>
      {!line.metrics.length && line.reason && <div class="worse cases-reason">{line.reason}</div>}
    </>
  );
}

function Statuses({ line }: { line: CaseLine }) {
  return (
    <span class="cases-statuses">
      {Object.entries(line.statuses).map(([status, times]) => (
        <StatusBadge key={status} status={status as Status} {...(times > 1 ? { count: times } : {})} />
      ))}
    </span>
  );
}

/** All that is known of a case. */
function Whole({ line }: { line: CaseLine }) {
  return (
    <div class="cases-more">
      <p class="soft">{[line.runtime, line.device].filter(Boolean).join(" on ")}</p>
      {line.metrics.length > 0 && <Metrics metrics={line.metrics} />}
      {line.warnings.length > 0 && <Warnings warned={line.warnings.map((warning) => ({ warning }))} />}
    </div>
  );
}
