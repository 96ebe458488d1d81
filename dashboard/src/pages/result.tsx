// One result: everything that was recorded of one case in one round.
// In the address: column, log and whole (of the distribution).

import { useData, type Query } from "../api";
import { StatusBadge } from "../parts/badges";
import { RoundLinks } from "../parts/casetable";
import { Failed, Warnings } from "../parts/cautions";
import { Command, CopyLink } from "../parts/copy";
import { Fact, Facts, flat } from "../parts/facts";
import { Fold } from "../parts/fold";
import { caseLabel, duration, paramsText } from "../parts/format";
import { Metrics } from "../parts/metrics";
import { Operators } from "../parts/operators";
import { Quarantined } from "../parts/quarantined";
import { RevisionText } from "../parts/runcells";
import { Answered, Empty } from "../parts/states";
import { useTitle } from "../parts/title";
import { When } from "../parts/when";
import { href } from "../route";
import type { ResultView, Value } from "../shapes";
import type { PageProps } from "../shell";
import { Artifacts } from "./result/artifacts";
import { Calls, Timelines } from "./result/overtime";
import { Requests } from "./result/requests";
import "./result/result.css";

export function ResultPage({ route }: PageProps) {
  const id = route.parts[0] ?? "";
  const answer = useData<ResultView>(id ? `results/${encodeURIComponent(id)}` : null);
  if (!id)
    return (
      <Empty title="No result selected.">
        <p>
          Open a result from <a href={href("runs")}>a run</a>.
        </p>
      </Empty>
    );
  return <Answered answer={answer}>{(result) => <Shown result={result} query={route.query} />}</Answered>;
}

function Shown({ result, query }: { result: ResultView; query: Query }) {
  useTitle(`${caseLabel(result.case, result.params)}, round ${result.round + 1}`);
  return (
    <div class="stack">
      <Head result={result} />
      {result.quarantine && <Quarantined line={result.quarantine} />}
      {result.error && <Failed failure={{ ...result.error, log_tail: "" }} />}
      {result.warnings.length > 0 && <Warnings warned={result.warnings.map((warning) => ({ warning }))} />}
      {result.requests && (
        <Requests requests={result.requests} distributions={result.distributions} timelines={result.timelines} />
      )}
      <section class="section">
        <h2>Metrics</h2>
        {result.metrics.length ? (
          <Metrics metrics={result.metrics} series={result.series} />
        ) : (
          <Empty title="No metrics: the case did not complete." />
        )}
      </section>
      {result.distributions.length > 0 && <Calls distributions={result.distributions} query={query} />}
      {result.note && <p class="soft">{result.note}</p>}
      {result.timelines.length > 0 && !result.requests?.slowest.length && (
        <Timelines timelines={result.timelines} details={result.details} bands={result.bands} />
      )}
      {result.operators.length > 0 && (
        <Fold id="operators" title="Time by operator" count={result.operators.length}>
          <Operators operators={result.operators} />
        </Fold>
      )}
      <Log text={result.log_tail || (result.error?.log_tail ?? "")} open={result.error !== null} />
      {result.artifacts.length > 0 && <Artifacts result={result.id} artifacts={result.artifacts} />}
      {result.command.length > 0 && (
        <Fold id="command" title="Command to reproduce">
          <Command text={result.command} />
        </Fold>
      )}
      <Recorded result={result} />
    </div>
  );
}

function Head({ result }: { result: ResultView }) {
  const { revision } = result;
  return (
    <header class="stack-tight">
      <p class="small">
        <a href={href("runs")}>Runs</a> › <a href={href("runs", [result.run])}>{result.run}</a> › round{" "}
        {result.round + 1}
      </p>
      <div class="row">
        <h1>
          {result.case} <span class="result-params">{paramsText(result.params)}</span>
        </h1>
        <StatusBadge status={result.status} />
        <span class="push">
          <CopyLink />
        </span>
      </div>
      <dl class="facts">
        <Fact name="Result">{result.id}</Fact>
        <Fact name="Started">
          <When at={result.started_at} />
        </Fact>
        <Fact name="Duration">{duration(result.duration)}</Fact>
        <Fact name="Runtime">{[result.runtime, result.device, result.precision].filter(Boolean).join(" · ")}</Fact>
        {result.uri && <Fact name="Target">{result.uri}</Fact>}
        {revision && (
          <Fact name="Revision">
            <RevisionText revision={revision} linked />
          </Fact>
        )}
        {result.rounds.length > 0 && (
          <Fact name="Rounds">
            <RoundLinks results={allRounds(result)} here={result.id} />
          </Fact>
        )}
      </dl>
    </header>
  );
}

/** `rounds` are the others, in order; this one stands at its place among them. */
function allRounds({ id, round, rounds }: ResultView): string[] {
  return rounds.includes(id) ? rounds : rounds.toSpliced(round, 0, id);
}

function Log({ text, open }: { text: string; open: boolean }) {
  if (!text) return null;
  return (
    <section class="section">
      <details open={open}>
        <summary>
          <h2>End of the log</h2>
        </summary>
        <pre class="result-log" tabIndex={0}>
          {text}
        </pre>
      </details>
    </section>
  );
}

function Recorded({ result }: { result: ResultView }) {
  const parts: [string, { [name: string]: Value }][] = [
    ["Environment", result.environment],
    ["Reported by the runtime", result.details],
    ["Measurement overhead and noise", result.instrument],
    ["Load", said(result.load)],
    ["Inputs", said(result.inputs)],
  ];
  return (
    <div class="result-recorded">
      {parts
        .filter(([, facts]) => Object.keys(facts).length)
        .map(([title, facts]) => (
          <Fold
            key={title}
            id={title.toLowerCase().replaceAll(" ", "-")}
            title={title}
            count={flat(facts).length}
            panel
          >
            <Facts facts={facts} label={title} />
          </Fold>
        ))}
    </div>
  );
}

/** Without what nobody asked for. */
function said(facts: { [name: string]: Value }): { [name: string]: Value } {
  return Object.fromEntries(
    Object.entries(facts).filter(([, fact]) => fact !== null && fact !== "" && !(Array.isArray(fact) && !fact.length)),
  );
}
