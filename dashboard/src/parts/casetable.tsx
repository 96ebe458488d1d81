// The cases of a run in one table: a column for each of the chief metrics; a case opens to show all of them.
//   <CaseTable cases={run.cases} query={route.query} />  all, words and open live in the address

import { change, href } from "../route";
import type { CaseLine, Status } from "../shapes";
import { StatusBadge } from "./badges";
import { Warnings } from "./cautions";
import { count, estimate, interval, paramsText } from "./format";
import { halfWidth, Metrics } from "./metrics";
import { More, Opener } from "./opener";
import "./casetable.css";
import "./table.css";

type Query = { [name: string]: string };

const CHIEF = 4; // metrics that are columns at first
const FIRST = ["latency_p50", "latency_p99", "throughput", "memory_peak", "rss_peak"]; // when they are there
const SEARCHED = 8; // cases from which on a search helps

export function CaseTable({ cases, query }: { cases: readonly CaseLine[]; query: Query }) {
  const all = metricNames(cases);
  const shown = query.all ? all : all.slice(0, CHIEF);
  const words = (query.words ?? "").toLowerCase().split(/\s+/);
  const found = cases.filter((line) => words.every((word) => line.label.toLowerCase().includes(word)));
  const opened = new Set((query.open ?? "").split("|").filter(Boolean));
  const toggle = (label: string) => {
    if (!opened.delete(label)) opened.add(label);
    change({ open: [...opened].join("|") }, true);
  };
  return (
    <div class="cases">
      <div class="row cases-controls">
        {cases.length >= SEARCHED && (
          <label class="field">
            Search {count(cases.length, "case")}
            <input
              type="search"
              value={query.words ?? ""}
              onInput={(event) => change({ words: event.currentTarget.value }, true)}
            />
          </label>
        )}
        {all.length > CHIEF && (
          <button
            type="button"
            aria-pressed={Boolean(query.all)}
            onClick={() => change({ all: query.all ? undefined : "1" }, true)}
          >
            all {all.length} metrics
          </button>
        )}
      </div>
      <div class="table-room cases-room">
        <table class="table folds">
          <caption class="aside">Cases of this run with their metrics</caption>
          <thead>
            <tr>
              <th scope="col">case</th>
              <th scope="col">status</th>
              {shown.map((name) => (
                <th scope="col" class="number" key={name}>
                  {name}
                </th>
              ))}
              <th scope="col">rounds</th>
            </tr>
          </thead>
          <tbody>
            {found.map((line) => (
              <Case
                key={line.label}
                line={line}
                metrics={shown}
                open={opened.has(line.label)}
                onToggle={() => toggle(line.label)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {!found.length && <p class="soft">No case is called that.</p>}
    </div>
  );
}

/** Every metric, those that people look at first and that most cases have before the others. */
export function metricNames(cases: readonly CaseLine[]): string[] {
  const seen = new Map<string, number>();
  for (const line of cases) for (const metric of line.metrics) seen.set(metric.name, (seen.get(metric.name) ?? 0) + 1);
  const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) - FIRST.length : 0);
  return [...seen.keys()].sort((a, b) => rank(a) - rank(b) || seen.get(b)! - seen.get(a)!);
}

interface CaseProps {
  line: CaseLine;
  metrics: readonly string[];
  open: boolean;
  onToggle: () => void;
}

function Case({ line, metrics, open, onToggle }: CaseProps) {
  return (
    <>
      <tr class={open ? "opened" : ""}>
        <th scope="row">
          <Opener open={open} onToggle={onToggle}>
            {line.case} <span class="soft">{paramsText(line.params)}</span>
          </Opener>
        </th>
        <td class="folds-whole">
          {Object.entries(line.statuses).map(([status, times]) => (
            <StatusBadge key={status} status={status as Status} {...(times > 1 ? { count: times } : {})} />
          ))}
        </td>
        {line.metrics.length || !line.reason ? (
          metrics.map((name) => <Value key={name} line={line} name={name} />)
        ) : (
          <td colSpan={metrics.length} class="worse cases-reason">
            {line.reason}
          </td>
        )}
        <td class="nowrap" data-head="rounds">
          <Rounds results={line.results} />
        </td>
      </tr>
      {open && (
        <More columns={metrics.length + 3}>
          <div class="cases-more">
            <p class="soft">{[line.runtime, line.device].filter(Boolean).join(" on ")}</p>
            {line.metrics.length > 0 && <Metrics metrics={line.metrics} />}
            {line.warnings.length > 0 && <Warnings warned={line.warnings.map((warning) => ({ warning }))} />}
          </div>
        </More>
      )}
    </>
  );
}

function Value({ line, name }: { line: CaseLine; name: string }) {
  const metric = line.metrics.find((one) => one.name === name);
  if (!metric)
    return (
      <td class="number soft" data-head={name}>
        –
      </td>
    );
  return (
    <td class="number" data-head={name} title={`± ${halfWidth(metric)}, of ${metric.count}`}>
      {estimate(metric.estimate, metric.unit)}
      <div class="soft small">{interval(metric.estimate, metric.unit)}</div>
    </td>
  );
}

export function Rounds({ results, here }: { results: readonly string[]; here?: string }) {
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
