// One finding: what changed and since when, who or what is behind it, and what people make of it.

import { useEffect, useState } from "preact/hooks";
import { get, isThere, useData, type Query } from "../../api";
import { may, useAbout } from "../../parts/about";
import { DriftBadge, Effect, StateBadge, VerdictBadge } from "../../parts/badges";
import { Command } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import {
  caseLabel,
  change,
  changeEnd,
  changeUnit,
  count,
  date,
  estimate,
  interval,
  paramsText,
  percent,
  POINTS,
  probability,
  signed,
  value,
} from "../../parts/format";
import { Answered } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { When } from "../../parts/when";
import { href } from "../../route";
import type { Estimate, FindingView } from "../../shapes";
import { linkTo } from "./chosen";
import { Desk } from "./desk";
import { AtForge } from "./forge";
import { MayNot } from "./maynot";
import { Neighbours } from "./neighbours";
import { Parts } from "./parts";
import { Picture } from "./picture";
import { Story } from "./story";
import { Suspects } from "./suspects";
import { triage } from "./triage";
import { Why } from "./why";

export function FindingPage({ id, query }: { id: string; query: Query }) {
  const answer = useData<FindingView>(`findings/${encodeURIComponent(id)}`);
  const [changed, setChanged] = useState<FindingView | null>(null);
  useEffect(() => setChanged(null), [answer.data]);
  return (
    <div class="stack findings">
      <Neighbours
        finding={answer.data?.line.id ?? id}
        cause={answer.data?.line.cause ?? ""}
        several={Boolean(answer.data?.siblings)}
        query={query}
      />
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
  const path = `findings/${encodeURIComponent(view.line.id)}`;
  useTitle(
    `${view.line.metric} of ${caseLabel(view.line.case, view.line.params)}: ${change(view.line.effect.point, changeUnit(view.line))}`,
  );
  return (
    <>
      <Head view={view} query={query} />
      <div class="finding-columns">
        <div class="stack">
          {view.view && <Picture finding={view} series={view.view} query={query} />}
          {view.line.drift ? <Parts view={view} drift={view.line.drift} /> : <Suspects view={view} />}
          <Why why={view.why} unit={view.line.unit} repository={view.line.repository} />
        </div>
        <div class="stack finding-side">
          {allowed ? (
            <Desk
              state={view.line.state}
              assignee={view.line.assignee}
              wish={async (what) => {
                onChange(await triage(view.line.id, what));
                return undefined;
              }}
              rules={href("settings", ["rules"], { case: view.line.case, metric: view.line.metric })}
            />
          ) : (
            <MayNot />
          )}
          <AtForge
            of={path}
            repository={view.line.repository}
            onSent={() => void get<FindingView>(path).then(onChange, () => undefined)}
          />
          <Story remarks={view.remarks} />
          <Next view={view} />
        </div>
      </div>
    </>
  );
}

function Head({ view: { line, method, calibration, siblings }, query }: { view: FindingView; query: Query }) {
  const { effect, unit, drift } = line;
  const sure = line.confidence === null ? "" : `${probability(line.confidence)} sure`;
  return (
    <header class="finding-head">
      <div class="row">
        <VerdictBadge verdict={line.verdict} />
        {drift && <DriftBadge />}
        <StateBadge state={line.state} />
        {line.assignee && <span class="soft">Assigned to {line.assignee}</span>}
      </div>
      <h1>{line.case}</h1>
      <p class="soft">
        {line.metric} {paramsText(line.params)}
      </p>
      {siblings > 0 && (
        <p>
          One of {count(siblings + 1, "finding")} with{" "}
          <a href={linkTo(line.cause, query)}>{line.culprit ? "the same suspect" : "the same beginning"}</a>.
        </p>
      )}
      <p class="finding-sentence">
        <Effect effect={effect} unit={changeUnit(line)} verdict={line.verdict} />: from {estimate(line.before, unit, 4)}{" "}
        to {estimate(line.after, unit, 4)}
        {changeUnit(line) !== POINTS && ` (${difference(line.after.point - line.before.point, unit)})`}
        {effect.low !== null && effect.high !== null && (
          <>
            , with {percent(effect.confidence)} confidence between {changeEnd(effect.low, changeUnit(line))} and{" "}
            {changeEnd(effect.high, changeUnit(line))}
          </>
        )}
        {drift && (
          <>
            , gradually over {count(drift.length, "run")}
            {drift.ongoing ? ", still ongoing" : ""}
          </>
        )}
        .
      </p>
      <dl class="facts">
        {drift && (
          <Fact name="Slope">
            {signed(drift.slope.point)} per run <span class="soft">{slopeWithin(drift.slope)}</span>
          </Fact>
        )}
        <Fact name={drift ? "Start level" : "Before"}>
          {estimate(line.before, unit, 4)} <span class="soft">{interval(line.before, unit, 4)}</span>
        </Fact>
        <Fact
          name={
            drift ? (drift.steps ? `Current level, without ${count(drift.steps, "step")}` : "Current level") : "After"
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
        <Fact name="Detected by">{[method, sure].filter(Boolean).join(", ") || date(line.found_at)}</Fact>
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
  ["benchwright ab", "Check whether code or environment is the cause"],
  ["benchwright compare", "Compare the runs before and after"],
  ["benchwright findings", "Show it in a terminal"],
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
      <h2 id="next">Next steps</h2>
      <ul class="finding-next">
        <li class="row">
          {series && isThere(`series/${line.series}`) && <a href={href("series", [line.series])}>Full series</a>}
          {sides && isThere("compare", sides) && <a href={href("compare", [], sides)}>Compare before and after</a>}
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
