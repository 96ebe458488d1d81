// Compare: two or more runs, revisions, branches, machines or runtimes, each against the first; what changed comes first.
// In the address: a, b, c, ... (run:ID, revision:ID, branch:NAME, machine:KEY, runtime:NAME), words, metric, verdict, sort,
// across (params in which paired cases may differ, with commas), group (none: rows by themselves), pages, rest (the rows without a change, and how many pages of them), suites, open (rows),
// log and full (of the pictures in open rows).

import { get, isStatic, useAsked, useLast, type Answer, type Query } from "../api";
import { linksOf, rangeHref } from "../parts/code";
import { Away, CommitLink } from "../parts/codelinks";
import { CopyLink } from "../parts/copy";
import { Fact, written } from "../parts/facts";
import { Choice } from "../parts/filters";
import { count, date } from "../parts/format";
import { Answered, Empty, Waiting } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { useTitle } from "../parts/title";
import { change, href } from "../route";
import type { Comparison, Difference, Side, Verdict } from "../shapes";
import type { PageProps } from "../shell";
import "./compare/compare.css";
import { Means } from "./compare/means";
import { asked, narrowed, PAGE, type Part } from "./compare/narrow";
import { askedSides, shortName, sideOf, Sides, sidesOf } from "./compare/sides";
import { ComparedTable } from "./compare/table";

const VERDICTS: readonly Verdict[] = ["worse", "better", "unclear", "same"];
const MOST = 500; // rows of one answer

export function ComparePage({ route }: PageProps) {
  const { query } = route;
  const sides = sidesOf(query);
  const chosen = sides.every((side) => sideOf(side)[1]);
  const part: Part = query["verdict"] ? "all" : "changed";
  const answer = useLast(useRows(chosen ? sides : null, query, part, pagesOf(query["pages"])));
  useTitle(chosen && answer.data ? titleOf(answer.data) : "Compare");
  return (
    <div class="stack">
      <div class="row">
        <h1>Compare</h1>
        <span class="push row">
          {query["across"] && (
            <button type="button" onClick={() => change({ across: undefined, open: undefined, pages: undefined })}>
              Pair equal cases only
            </button>
          )}
          {chosen && <CopyLink />}
        </span>
      </div>
      <Sides query={query} />
      {chosen ? (
        <Answered answer={answer}>
          {(comparison) => <Compared comparison={comparison} query={query} sides={sides} part={part} />}
        </Answered>
      ) : (
        <Empty title="Select two sides to compare.">
          <p>Runs, revisions, branches, machines or runtimes: the cases that they have in common are compared.</p>
          <p>
            On the command line: <code>benchwright compare A B</code>
          </p>
        </Empty>
      )}
    </div>
  );
}

function titleOf({ a, b, others }: Comparison): string {
  return `${[b, ...others].map((side) => side.label).join(", ")} against ${a.label}`;
}

function pagesOf(given: string | undefined): number {
  return Math.min(50, Math.max(1, Math.floor(Number(given)) || 1));
}

/** So many pages of rows in one answer. A published site has them all, and narrows them here. */
function useRows(sides: readonly string[] | null, query: Query, part: Part, pages: number): Answer<Comparison> {
  const wanted = { ...asked(query, part), only: query["metric"], across: query["across"] };
  const key = sides && JSON.stringify(isStatic ? [sides, query, part] : [sides, wanted, pages]);
  return useAsked(key, async () => {
    const named = askedSides(sides ?? []);
    if (isStatic) return narrowed(await get<Comparison>("compare", named), query, part);
    const metric = query["metric"];
    let narrow: { [name: string]: string | undefined } = { ...wanted, limit: String(Math.min(MOST, pages * PAGE)) };
    let page = await get<Comparison>("compare", { ...named, ...narrow });
    if (metric && !page.judged.includes(metric)) {
      // the judged metrics come by themselves; any other is judged when it is asked for
      narrow = { ...narrow, metric, only: undefined };
      page = await get<Comparison>("compare", { ...named, ...narrow });
    }
    const lines = [...page.lines];
    while (page.next && lines.length < pages * PAGE) {
      page = await get<Comparison>("compare", { ...named, ...narrow, after: page.next });
      lines.push(...page.lines);
    }
    return { ...page, lines };
  });
}

interface ShownProps {
  comparison: Comparison;
  query: Query;
  sides: readonly string[];
  part: Part;
}

function Compared({ comparison, query, sides, part }: ShownProps) {
  const shown = [comparison.a, comparison.b, ...comparison.others];
  return (
    <>
      <Summary comparison={comparison} shown={shown} />
      {comparison.total > 0 ? (
        <>
          <Across comparison={comparison} />
          <Means comparison={comparison} sides={shown} query={query} />
          <section class="section compared-lines" aria-label="Compared metrics">
            <Filters comparison={comparison} query={query} />
            <Rows comparison={comparison} shown={shown} query={query} part={part} />
            {part === "changed" && <Rest comparison={comparison} shown={shown} query={query} sides={sides} />}
            <p class="soft small">{comparison.control}</p>
          </section>
        </>
      ) : (
        <Empty title="The sides have no common case.">
          <Across comparison={comparison} />
          <p>Cases match by name and parameters; a machine or runtime that is compared is left out of these.</p>
        </Empty>
      )}
      <Differences differences={comparison.differences} shown={shown} />
    </>
  );
}

/** Params in which paired cases may differ: a button for each. A published site pairs equal cases alone, and says so. */
function Across({ comparison: { across, params } }: { comparison: Comparison }) {
  const offered = params.filter((name) => name !== "runtime" || across.includes(name));
  if (!offered.length) return null;
  if (isStatic)
    return (
      <p class="soft small">
        This published copy pairs equal cases alone. Cases that differ in a parameter are paired by{" "}
        <code>benchwright compare A B --across {offered[0]}</code>, and by the dashboard of a server.
      </p>
    );
  const toggled = (name: string) => (across.includes(name) ? across.filter((one) => one !== name) : [...across, name]);
  return (
    <div class="row compared-across" role="group" aria-label="Compare across">
      <span class="soft">Pair cases that differ in</span>
      {offered.map((name) => (
        <button
          type="button"
          key={name}
          aria-pressed={across.includes(name)}
          onClick={() => change({ across: toggled(name).join(",") || undefined, open: undefined, pages: undefined })}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

function Summary({ comparison, shown }: { comparison: Comparison; shown: readonly Side[] }) {
  const { a, b, notes } = comparison;
  const counts = [comparison.counts, ...comparison.other_counts];
  return (
    <section class="section compared-head" aria-label="Summary">
      <h2>
        {shown.length === 2
          ? `${b.label} against ${a.label}: ${tally(comparison.counts)}`
          : `${shown.length - 1} sides against ${a.label}`}
      </h2>
      <dl class="facts">
        {shown.map((side, i) => (
          <SideFacts
            key={side.given}
            name={shown.length === 2 ? (i ? "After" : "Before") : shortName(i, shown.length)}
            side={side}
            labelled={shown.length > 2}
          >
            {shown.length > 2 && (i ? `: ${tally(counts[i - 1] ?? {})}` : ": the baseline")}
          </SideFacts>
        ))}
        {shown.length === 2 && <Between before={shown[0]!} after={shown[1]!} />}
      </dl>
      {notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
    </section>
  );
}

function tally(counts: { [verdict: string]: number }): string {
  const said = VERDICTS.filter((verdict) => counts[verdict]).map((verdict) => `${counts[verdict]} ${verdict}`);
  return said.join(", ") || "nothing to compare";
}

/** What changed between the commits of both sides, where the forge shows it. */
function Between({ before, after }: { before: Side; after: Side }) {
  const links = before.repository === after.repository ? linksOf(after.repository) : undefined;
  const url = before.revision === after.revision ? "" : rangeHref(links, before.revision, after.revision);
  return url ? (
    <Fact name="Code">
      <Away url={url}>what changed</Away>
    </Fact>
  ) : null;
}

interface SideFactsProps {
  name: string;
  side: Side;
  labelled: boolean;
  children: string | false;
}

function SideFacts({ name, side, labelled, children }: SideFactsProps) {
  const newest = side.runs[0];
  return (
    <Fact name={name}>
      {labelled && `${side.label}, `}
      {newest ? <a href={href("runs", [newest])}>{date(side.at)}</a> : date(side.at)}
      {side.revision && (
        <>
          {" "}
          <CommitLink id={side.revision} repository={side.repository} />
        </>
      )}
      {side.runs.length > 1 && <span class="soft"> and {count(side.runs.length - 1, "other run")}</span>}
      {children}
    </Fact>
  );
}

interface RowsProps {
  comparison: Comparison;
  shown: readonly Side[];
  query: Query;
  part: Part;
}

function Rows({ comparison, shown, query, part }: RowsProps) {
  const { lines, found, fitting } = comparison;
  const what = part === "changed" ? "changed row" : "row";
  if (!lines.length)
    return fitting ? <p class="soft">Nothing here is called better or worse.</p> : <Empty title="No matching rows." />;
  return (
    <>
      <p class="soft small" role="status">
        {lines.length === found ? count(found, what) : `${lines.length} of ${count(found, what)}`}
      </p>
      <ComparedTable caption="Compared metrics" lines={lines} sides={shown} query={query} />
      <More name="pages" query={query} left={found - lines.length} />
    </>
  );
}

/** What did not change waits behind a button, and is asked for when it is pressed. */
function Rest({ comparison, shown, query, sides }: Omit<ShownProps, "part"> & { shown: readonly Side[] }) {
  const others = comparison.fitting - comparison.found;
  const open = Boolean(query["rest"]);
  if (!others) return null;
  return (
    <>
      <p>
        <button type="button" aria-expanded={open} onClick={() => change({ rest: open ? undefined : "1" }, true)}>
          {count(others, "other")} without a change
        </button>
      </p>
      {open && <RestRows shown={shown} query={query} sides={sides} />}
    </>
  );
}

function RestRows({ shown, query, sides }: { shown: readonly Side[]; query: Query; sides: readonly string[] }) {
  const answer = useLast(useRows(sides, query, "rest", pagesOf(query["rest"])));
  if (answer.data === undefined && answer.waiting) return <Waiting />;
  return (
    <Answered answer={answer}>
      {({ lines, found }) => (
        <>
          <ComparedTable caption="Metrics without a change" lines={lines} sides={shown} query={query} />
          <More name="rest" query={query} left={found - lines.length} />
        </>
      )}
    </Answered>
  );
}

function More({ name, query, left }: { name: "pages" | "rest"; query: Query; left: number }) {
  if (left <= 0) return null;
  return (
    <p>
      <button type="button" onClick={() => change({ [name]: String(pagesOf(query[name]) + 1) }, true)}>
        Show {Math.min(PAGE, left)} more
      </button>{" "}
      <span class="soft">{count(left, "row")} not shown</span>
    </p>
  );
}

function Filters({ comparison, query }: { comparison: Comparison; query: Query }) {
  const all = [comparison.counts, ...comparison.other_counts];
  const counted = (verdict: Verdict) => all.reduce((sum, counts) => sum + (counts[verdict] ?? 0), 0);
  const flat = query["group"] === "none";
  return (
    <div class="row filters">
      <label class="field grow">
        Filter
        <input
          type="search"
          placeholder="case, parameter, metric"
          value={query["words"] ?? ""}
          onInput={(event) => change({ words: event.currentTarget.value, pages: undefined }, true)}
        />
      </label>
      <Choice label="Metric" name="metric" query={query} options={metricsOf(comparison).map((one) => [one, one])} />
      <div class="field" role="group" aria-label="Verdict">
        Verdict
        <div class="row compared-verdicts">
          {VERDICTS.map((verdict) => (
            <button
              type="button"
              key={verdict}
              class={verdict}
              aria-pressed={query["verdict"] === verdict}
              disabled={!counted(verdict)}
              onClick={() => change({ verdict: query["verdict"] === verdict ? undefined : verdict, pages: undefined })}
            >
              {counted(verdict)} {verdict}
            </button>
          ))}
        </div>
      </div>
      <button type="button" aria-pressed={!flat} onClick={() => change({ group: flat ? undefined : "none" }, true)}>
        Group by case
      </button>
    </div>
  );
}

/** A published site has the rows that were published, no others. */
function metricsOf({ judged, metrics }: Comparison): readonly string[] {
  return isStatic ? judged : metrics;
}

function Differences({ differences, shown }: { differences: readonly Difference[]; shown: readonly Side[] }) {
  return (
    <section class="section">
      <h2>Other differences</h2>
      {differences.length ? (
        <Table
          caption="Other differences"
          columns={differenceColumns(shown)}
          rows={differences}
          keyOf={(one) => one.what}
          cards
        />
      ) : (
        <p class="soft">None: the recorded environments of the sides are the same.</p>
      )}
    </section>
  );
}

function differenceColumns(shown: readonly Side[]): Column<Difference>[] {
  const unitOf = (one: Difference) => one.what.split(".").at(-1);
  const head = (place: number) => (shown.length === 2 ? (place ? "After" : "Before") : shortName(place, shown.length));
  return [
    { name: "what", head: "Property", cell: (one) => one.what, by: (one) => one.what, heads: true },
    ...shown.map(
      (_, i): Column<Difference> => ({
        name: `side ${i}`,
        head: head(i),
        cell: (one) => written([one.before, one.after, ...one.others][i] ?? null, unitOf(one)),
      }),
    ),
  ];
}
