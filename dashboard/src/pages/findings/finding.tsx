// One finding: what changed and since when, who or what is behind it, and what people make of it.

import { useEffect, useState } from "preact/hooks";
import { isThere, useData, type Query } from "../../api";
import { may, useAbout } from "../../parts/about";
import { DriftBadge, Effect, StateBadge, VerdictBadge } from "../../parts/badges";
import { Command, CopyLink } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import {
  caseLabel,
  change,
  count,
  date,
  estimate,
  interval,
  paramsText,
  percent,
  probability,
  signed,
  value,
} from "../../parts/format";
import { useKeys } from "../../parts/keys";
import { Answered } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { href, open } from "../../route";
import type { Estimate, FindingView } from "../../shapes";
import { chosen, linkTo, listQuery, statesOf, useFindings } from "./chosen";
import { Desk } from "./desk";
import { MayNot } from "./maynot";
import { Parts } from "./parts";
import { Picture } from "./picture";
import { Story } from "./story";
import { Suspects } from "./suspects";
import { Why } from "./why";

export function FindingPage({ id, query }: { id: string; query: Query }) {
  const answer = useData<FindingView>(`findings/${encodeURIComponent(id)}`);
  const [changed, setChanged] = useState<FindingView | null>(null);
  useEffect(() => setChanged(null), [answer.data]);
  return (
    <div class="stack findings">
      <Neighbours id={answer.data?.line.id ?? id} query={query} />
      <Answered answer={answer}>
        {(data) => (
          <Found
            key={data.line.id}
            view={changed?.line.id === data.line.id ? changed : data}
            query={query}
            onChange={setChanged}
          />
        )}
      </Answered>
    </div>
  );
}

function Found({ view, query, onChange }: { view: FindingView; query: Query; onChange: (view: FindingView) => void }) {
  const allowed = may(useAbout(), "triage");
  useTitle(
    `${view.line.metric} of ${caseLabel(view.line.case, view.line.params)}: ${change(view.line.effect.point, view.line.unit)}`,
  );
  return (
    <>
      <Head view={view} />
      <div class="finding-columns">
        <div class="stack">
          {view.view && <Picture finding={view} series={view.view} query={query} />}
          {view.line.drift ? <Parts view={view} drift={view.line.drift} /> : <Suspects view={view} />}
          <Why why={view.why} unit={view.line.unit} />
        </div>
        <div class="stack finding-side">
          {allowed ? <Desk view={view} onChange={onChange} /> : <MayNot />}
          <Story remarks={view.remarks} />
          <Next view={view} />
        </div>
      </div>
    </>
  );
}

/** The finding before and the one after in the list one came from. It stays as it was when it was opened. */
function Neighbours({ id, query }: { id: string; query: Query }) {
  const found = useFindings(statesOf(query)).data;
  const rows = found ? chosen(found.findings, query) : [];
  const place = rows.findIndex((one) => one.id === id);
  const [before, after] = [rows[place - 1], place < 0 ? undefined : rows[place + 1]];
  const go = (there: { id: string } | undefined) => there && open(linkTo(there.id, query));
  const list = href("findings", [], listQuery(query));
  useKeys([
    { keys: "j", does: "Next finding", run: () => go(after) },
    { keys: "k", does: "Previous finding", run: () => go(before) },
    { keys: "u", does: "Back to the list", run: () => open(list) },
  ]);
  return (
    <nav class="row finding-neighbours" aria-label="Findings">
      <a href={list}>All findings</a>
      {place >= 0 && (
        <span class="soft">
          {place + 1} of {rows.length}
        </span>
      )}
      <span class="row push">
        {before ? (
          <a rel="prev" href={linkTo(before.id, query)}>
            Previous
          </a>
        ) : (
          <span class="soft">Previous</span>
        )}
        {after ? (
          <a rel="next" href={linkTo(after.id, query)}>
            Next
          </a>
        ) : (
          <span class="soft">Next</span>
        )}
        <CopyLink />
      </span>
    </nav>
  );
}

function Head({ view: { line, method, calibration } }: { view: FindingView }) {
  const { effect, unit, drift } = line;
  const sure = line.confidence === null ? "" : `${probability(line.confidence)} sure`;
  return (
    <header class="finding-head">
      <div class="row">
        <VerdictBadge verdict={line.verdict} />
        {drift && <DriftBadge />}
        <StateBadge state={line.state} />
        {line.assignee && <span class="soft">{line.assignee} looks after it</span>}
      </div>
      <h1>{line.case}</h1>
      <p class="soft">
        {line.metric} {paramsText(line.params)}
      </p>
      <p class="finding-sentence">
        <Effect effect={effect} unit={unit} verdict={line.verdict} />: from {estimate(line.before, unit, 4)} to{" "}
        {estimate(line.after, unit, 4)} ({difference(line.after.point - line.before.point, unit)})
        {effect.low !== null && effect.high !== null && (
          <>
            , with {percent(effect.confidence)} confidence between {signed(effect.low - 1)} and{" "}
            {signed(effect.high - 1)}
          </>
        )}
        {drift && (
          <>
            , little by little over {count(drift.length, "run")}
            {drift.ongoing ? ", and still going on" : ""}
          </>
        )}
        .
      </p>
      <dl class="facts">
        {drift && (
          <Fact name="Slope">
            {signed(drift.slope.point)} a run <span class="soft">{slopeWithin(drift.slope)}</span>
          </Fact>
        )}
        <Fact name={drift ? "Level then" : "Before"}>
          {estimate(line.before, unit, 4)} <span class="soft">{interval(line.before, unit, 4)}</span>
        </Fact>
        <Fact
          name={
            drift ? (drift.steps ? `Level now, without ${count(drift.steps, "step")} on it` : "Level now") : "After"
          }
        >
          {estimate(line.after, unit, 4)} <span class="soft">{interval(line.after, unit, 4)}</span>
        </Fact>
        <Fact name="Since run">
          {line.run && isThere(`runs/${line.run}`) ? (
            <a href={href("runs", [line.run])}>{line.run}</a>
          ) : (
            line.run || "–"
          )}
        </Fact>
        <Fact name="Machine">
          <a href={href("machines", [line.machine])}>{line.machine_name || line.machine}</a>
        </Fact>
        <Fact name="Found">
          <When at={line.found_at} />
        </Fact>
        <Fact name="How">{[method, sure].filter(Boolean).join(", ") || date(line.found_at)}</Fact>
      </dl>
      {calibration && <p class="soft">{calibration}</p>}
    </header>
  );
}

function slopeWithin({ low, high }: Estimate): string {
  return low === null || high === null ? "" : `[${signed(low)}, ${signed(high)}]`;
}

function difference(of: number, unit: string): string {
  return `${of < 0 ? "−" : "+"}${value(Math.abs(of), unit)}`;
}

/** What each command is for, by how it begins. */
const PURPOSES: readonly [string, string][] = [
  ["benchwright bisect", "Find the commit"],
  ["benchwright ab", "Tell the code from the environment"],
  ["benchwright compare", "Compare the runs before and after"],
  ["benchwright findings", "Read it in a terminal"],
];

function Next({ view: { commands, runs, line, view: series } }: { view: FindingView }) {
  const [before, after] = line.drift
    ? [line.drift.first, line.drift.last]
    : [runs[runs.indexOf(line.run) - 1], line.run];
  const sides = before ? { a: `run:${before}`, b: `run:${after}` } : null;
  const ordered = PURPOSES.flatMap(([begin, purpose]) =>
    commands.filter((one) => one.startsWith(begin)).map((text) => ({ text, purpose })),
  );
  return (
    <section class="section panel" aria-labelledby="next">
      <h2 id="next">What to do next</h2>
      <ul class="finding-next">
        <li class="row">
          {series && isThere(`series/${line.series}`) && <a href={href("series", [line.series])}>The whole series</a>}
          {sides && isThere("compare", sides) && <a href={href("compare", [], sides)}>Before against after</a>}
        </li>
        {ordered.map(({ text, purpose }) => (
          <li key={text}>
            <p class="soft small">{purpose}</p>
            <Command text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}
