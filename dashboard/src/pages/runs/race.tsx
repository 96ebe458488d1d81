// A run that `benchwright tune` made: the winner and how sure that is, and every configuration that was measured.
//   <Race run={run} query={query} />  nothing of a run that was no race. In the address: across, up (metrics of the drawing)

import type { Query } from "../../api";
import { Sign, type Look } from "../../parts/badges";
import { Command, CopyButton, shellLine } from "../../parts/copy";
import { Fact } from "../../parts/facts";
import { Fold } from "../../parts/fold";
import { count, estimate, interval } from "../../parts/format";
import { Table, type Column } from "../../parts/table";
import { href } from "../../route";
import type { RaceCellLine, RaceMetric, RaceView, RunView } from "../../shapes";
import "./race.css";
import { axesOf, look, spotsOf, upperFirst } from "./racefront";
import { RaceFront } from "./racepicture";

const COMMANDS = 6; // of a front: the table has the others

export function Race({ run, query }: { run: RunView; query: Query }) {
  const { race } = run;
  if (!race) return null;
  const axes = axesOf(race, query["across"], query["up"]);
  const spots = axes ? spotsOf(race, axes) : [];
  const front = new Set(spots.filter(({ isFront }) => isFront).map(({ cell }) => cell.number));
  return (
    <>
      <section class="section" aria-labelledby="race">
        <h2 id="race">Race</h2>
        <div class="stack-tight">
          <p class="soft">
            {upperFirst(race.question)}: {race.effort}.
          </p>
          <Outcome race={race} />
        </div>
      </section>
      {axes && (
        <Fold id="race-front" title="Pareto front" open>
          <RaceFront race={race} axes={axes} spots={spots} />
        </Fold>
      )}
      {race.cells.length > 0 && (
        <Fold id="race-cells" title="Configurations in the race" count={race.cells.length}>
          <Cells race={race} front={front} />
          {race.unmeasured.length > 0 && <p class="soft small">Never measured: {race.unmeasured.join("; ")}.</p>}
        </Fold>
      )}
    </>
  );
}

// ---- the answer ----

function Outcome({ race }: { race: RaceView }) {
  const named = (numbers: readonly number[]) =>
    numbers.flatMap((number) => race.cells.find((cell) => cell.number === number) ?? []);
  const [winner] = race.winner === null ? [] : named([race.winner]);
  const front = named(race.front);
  return (
    <>
      {race.no_winner.length > 0 && (
        <div class="caution" role="note">
          {race.no_winner.map((said) => (
            <p key={said}>{said}</p>
          ))}
        </div>
      )}
      {winner && (
        <div class="panel stack-tight">
          <p class="race-winner">
            <Sign look="tick">winner</Sign> <strong>{winner.label}</strong>
          </p>
          <Values cell={winner} metrics={race.metrics} />
          <p>{upperFirst(race.surety)}.</p>
          <Alike cells={named(race.alike)} />
          <p class="soft small">Measure it again, in processes of the usual length:</p>
          <Command text={winner.command} />
        </div>
      )}
      {front.length > 0 && (
        <div class="panel stack-tight">
          <p>
            <strong>{count(front.length, "configuration")}</strong> on the front: nothing beats{" "}
            {front.length === 1 ? "it" : "them"} in all {race.metrics.filter(({ is_goal }) => is_goal).length} goals.
          </p>
          {front.slice(0, COMMANDS).map((cell) => (
            <div key={cell.number} class="stack-tight">
              <p>
                <strong>{cell.label}</strong>
              </p>
              <p class="soft small">{race.metrics.flatMap((metric) => told(cell, metric)).join(" · ")}</p>
              <Command text={cell.command} />
            </div>
          ))}
          {front.length > COMMANDS && <p class="soft small">The table below has the others.</p>}
        </div>
      )}
      {race.unsettled && (
        <p class="caution" role="note">
          {race.unsettled}.
        </p>
      )}
    </>
  );
}

function Values({ cell, metrics }: { cell: RaceCellLine; metrics: readonly RaceMetric[] }) {
  return (
    <dl class="facts">
      {metrics.map(({ name, title, unit }) => {
        const found = cell.values[name];
        return (
          found && (
            <Fact key={name} name={upperFirst(title)}>
              {estimate(found, unit)} <span class="soft small">{interval(found, unit)}</span>
            </Fact>
          )
        );
      })}
    </dl>
  );
}

function told({ values }: RaceCellLine, { name, title, unit }: RaceMetric): string[] {
  const found = values[name];
  return found ? [`${title} ${estimate(found, unit)}`] : [];
}

function Alike({ cells }: { cells: readonly RaceCellLine[] }) {
  if (!cells.length) return null;
  return (
    <div>
      <p>Not shown to be worse; choose among these by whatever else matters:</p>
      <ul class="race-alike">
        {cells.map(({ number, label }) => (
          <li key={number}>{label}</li>
        ))}
      </ul>
    </div>
  );
}

// ---- every configuration that was measured ----

const LOOKS: { [state: string]: Look } = { leads: "tick", front: "tick", alike: "ring", racing: "ring" };

/** `front` has the numbers of the cells on the front that is drawn. */
function Cells({ race, front }: { race: RaceView; front: ReadonlySet<number> }) {
  const columns: Column<RaceCellLine>[] = [
    {
      name: "configuration",
      head: "Configuration",
      heads: true,
      by: ({ label }) => label,
      cell: (one) => (
        <>
          {one.result ? <a href={href("results", [one.result])}>{one.label}</a> : one.label}
          {front.has(one.number) && <span class="race-on-front">◆ on the front drawn above</span>}
        </>
      ),
    },
    {
      name: "standing",
      head: "Standing",
      by: (one) => look(one).word,
      cell: (one) => <Standing cell={one} />,
    },
    ...race.metrics.map((metric) => measured(metric)),
    {
      name: "time",
      head: "In the race",
      largestFirst: true,
      by: ({ processes }) => processes,
      cell: (one) => <TimeInRace cell={one} blocks={race.blocks} />,
    },
    {
      name: "again",
      head: "Again",
      cell: (one) => <CopyButton text={shellLine(one.command)} label="Copy" about={`the command of ${one.label}`} />,
    },
  ];
  return (
    <Table
      caption="Configurations that were measured in the race: those in it first, then who left"
      columns={columns}
      rows={race.cells}
      keyOf={({ number }) => String(number)}
      rowClass={({ state }) => (state === "leads" || state === "front" ? "race-leads" : "")}
      few={20}
      cards
      scrolls
    />
  );
}

function Standing({ cell }: { cell: RaceCellLine }) {
  const left = cell.reason === "bound" || cell.reason === "failed" ? "cross" : "bar";
  const others = cell.breaches.filter(({ objective }) => !cell.why.includes(objective)); // it says why it left already
  return (
    <div class="race-standing">
      <Sign look={LOOKS[cell.state] ?? left}>{look(cell).word}</Sign>
      {cell.why && <span class="soft small">{cell.why}</span>}
      {others.map(({ objective, is_sure }) => (
        <span key={objective} class="small worse">
          breaks {objective}
          {is_sure ? "" : " by its value, not beyond doubt"}
        </span>
      ))}
    </div>
  );
}

/** From its first process to its last, among all blocks of the race. */
function TimeInRace({ cell: { first, last, processes, state }, blocks }: { cell: RaceCellLine; blocks: number }) {
  const from = (100 * first) / blocks;
  const wide = (100 * (last + 1 - first)) / blocks;
  const stretch = first === last ? `round ${first + 1}` : `rounds ${first + 1} to ${last + 1}`;
  return (
    <div class="race-time">
      <svg class="race-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="race-whole" x="0" y="3" width="100" height="4" />
        <rect class={state === "left" ? "race-left" : "race-in"} x={from} y="1" width={wide} height="8" />
      </svg>
      <span class="small">
        {count(processes, "process", "processes")}, {stretch} of {blocks}
      </span>
    </div>
  );
}

function measured({ name, title, unit, better }: RaceMetric): Column<RaceCellLine> {
  return {
    name,
    head: title,
    number: true,
    largestFirst: better === "higher",
    by: ({ values }) => values[name]?.point ?? null,
    cell: ({ values }) => {
      const found = values[name];
      return found ? (
        <>
          {estimate(found, unit)}
          <div class="soft small">{interval(found, unit)}</div>
        </>
      ) : (
        "–"
      );
    },
  };
}
