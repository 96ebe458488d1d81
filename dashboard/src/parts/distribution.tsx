// How calls are spread: a histogram and a cumulative curve, of one result or of several over each other.
//   <Distributions shown={[{ name: "before", tone: 0, distribution }]} log={false} whole={false} />

import type { Distribution } from "../shapes";
import { Swatch } from "./badges";
import { count, value, whole } from "./format";
import { Plot, type Pixels } from "./plot";
import { plain, scale, type Scale } from "./scale";
import { Table, type Column } from "./table";
import { beyond, callsAt, densities, quantile, reach, shareBelow } from "./spread";

export interface Shown {
  name: string;
  /** Its colour: 0 to 7. */
  tone: number;
  distribution: Distribution;
}

interface Props {
  shown: readonly Shown[];
  log: boolean;
  /** Up to the longest call; otherwise without the few that lie far out. */
  whole: boolean;
}

const LEVELS = [0.5, 0.9, 0.99, 0.999];

export function Distributions({ shown, log, whole }: Props) {
  const all = shown.map((s) => s.distribution);
  const unit = all[0]?.unit ?? "";
  const [low, high] = reach(all, !whole);
  const x = scale(low, high, { log });
  const write = (at: number) => plain(value(at, unit));
  return (
    <div class="plots">
      <figure>
        <figcaption>Distribution of {all[0]?.column}</figcaption>
        <Histogram shown={shown} x={x} write={write} />
        <Beyond shown={shown} x={x} write={write} />
      </figure>
      <figure>
        <figcaption>Cumulative share of {all[0]?.of ?? "call"}s</figcaption>
        <Cumulative shown={shown} x={x} write={write} />
      </figure>
      <Levels shown={shown} />
    </div>
  );
}

interface Drawn {
  shown: readonly Shown[];
  x: Scale;
  write: (at: number) => string;
}

function Histogram({ shown, x, write }: Drawn) {
  const steps = shown.map((s) => densities(s.distribution, x.log).filter(([from]) => from < x.high));
  const tallest = Math.max(...steps.flatMap((bins) => bins.map((bin) => bin[2])));
  const y = { ...scale(0, (tallest || 1) * 1.05), ticks: [] };
  const read = (at: number) =>
    `${write(at)}: ${shown.map((s) => `${s.name} ${count(callsAt(s.distribution, at), s.distribution.of)}`).join(", ")}`;
  return (
    <Plot label={`Histogram of ${said(shown, write)}`} x={x} y={y} writeX={write} read={read}>
      {(px, py) =>
        shown.map((s, i) => <path key={s.name} class={`plot-area tone-${s.tone}`} d={outline(steps[i]!, x, px, py)} />)
      }
    </Plot>
  );
}

/** What the picture leaves out is said. */
function Beyond({ shown, x, write }: Drawn) {
  const far = shown
    .map((s) => ({ name: s.name, calls: beyond(s.distribution, x.high), of: s.distribution.of }))
    .filter((s) => s.calls > 0);
  if (!far.length) return null;
  const said = far
    .map((s) => (shown.length > 1 ? `${s.name} ${count(s.calls, s.of)}` : count(s.calls, s.of)))
    .join(", ");
  return <p class="soft small">{`Longer than ${write(x.high)}, not shown: ${said}`}</p>;
}

function Cumulative({ shown, x, write }: Drawn) {
  const y = scale(0, 1, { count: 4 });
  const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
  const read = (at: number) =>
    `${write(at)}: ${shown.map((s) => `${s.name} ${percent(shareBelow(s.distribution, at))}`).join(", ")}`;
  return (
    <Plot label={`Cumulative share of ${said(shown, write)}`} x={x} y={y} writeX={write} writeY={percent} read={read}>
      {(px, py) =>
        shown.map((s) => {
          const inside = s.distribution.quantiles.filter(([, at]) => at <= x.high && at >= x.low);
          const end: [number, number] = [shareBelow(s.distribution, x.high), x.high];
          const line = [...inside, end].map(([share, at]) => `${px(at).toFixed(1)},${py(share).toFixed(1)}`);
          return <polyline key={s.name} class={`plot-line tone-${s.tone}`} points={line.join(" ")} />;
        })
      }
    </Plot>
  );
}

/** The same in numbers: what a picture cannot say exactly, and what a screen reader reads. */
function Levels({ shown }: { shown: readonly Shown[] }) {
  const at = (level: number, head: string): Column<Shown> => ({
    name: head,
    head,
    cell: ({ distribution }) => value(quantile(distribution, level), distribution.unit),
    number: true,
  });
  const columns: Column<Shown>[] = [
    {
      name: "name",
      head: "",
      cell: ({ name, tone }) => (
        <>
          <Swatch index={tone} /> {name}
        </>
      ),
      heads: true,
    },
    at(0, "Min"),
    ...LEVELS.map((level) => at(level, `p${level * 100}`)),
    at(1, "Max"),
    {
      name: "calls",
      head: `${capital(shown[0]?.distribution.of ?? "call")}s`,
      cell: ({ distribution }) => whole(distribution.count),
      number: true,
    },
  ];
  return <Table caption="Percentiles" columns={columns} rows={shown} keyOf={(one) => one.name} />;
}

function outline(bins: [number, number, number][], x: Scale, px: Pixels, py: Pixels): string {
  const ground = py(0).toFixed(1);
  let path = "";
  for (const [from, to, tall] of bins) {
    const [left, right] = [px(from).toFixed(1), px(Math.min(to, x.high)).toFixed(1)];
    path += path ? `L${left},${py(tall).toFixed(1)}` : `M${left},${ground}L${left},${py(tall).toFixed(1)}`;
    path += `L${right},${py(tall).toFixed(1)}`;
  }
  const last = bins.at(-1);
  return last ? `${path}L${px(Math.min(last[1], x.high)).toFixed(1)},${ground}Z` : "";
}

function said(shown: readonly Shown[], write: (at: number) => string): string {
  return shown
    .map(
      (s) =>
        `${s.name}: ${count(s.distribution.count, s.distribution.of)}, half within ${write(quantile(s.distribution, 0.5))}`,
    )
    .join("; ");
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
