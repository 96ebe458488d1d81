// The requests of a served model: how many failed and why, all of them over time with what was recorded beside them on
// the same axis, and the waterfall of the slowest.
//   <Requests requests={result.requests} distributions={result.distributions} timelines={result.timelines} />

import { useRef } from "preact/hooks";
import type { Distribution, FailureKind, RequestLine, RequestsView, Timeline } from "../../shapes";
import { Swatch } from "../../parts/badges";
import { count, value, whole } from "../../parts/format";
import { Plot, spaced, useWidth } from "../../parts/plot";
import { plain, scale, type Scale } from "../../parts/scale";
import { Table, type Column } from "../../parts/table";
import { extent, nearest, PARTS, partsOf, shift, tell, zerosOf } from "./spans";
import "./requests.css";

const BAR = 10; // pixels of a request, with the space below it
const TITLES: { [column: string]: string } = { latency: "latency", ttft: "TTFT" };

interface Props {
  requests: RequestsView;
  distributions: readonly Distribution[];
  timelines: readonly Timeline[];
}

export function Requests({ requests, distributions, timelines }: Props) {
  const timed = distributions.filter(({ column, over_time }) => TITLES[column] && over_time.length);
  return (
    <section class="section">
      <h2>Requests</h2>
      <p>{madeText(requests)}</p>
      {requests.failures.length > 0 && <Failures kinds={requests.failures} />}
      {timed.length > 0 && <OverTime requests={requests} timed={timed} timelines={timelines} />}
      {requests.slowest.length > 0 && <Waterfall requests={requests.slowest} />}
    </section>
  );
}

export function madeText({ made, failures }: RequestsView): string {
  const failed = failures.reduce((sum, kind) => sum + kind.count, 0);
  return `${count(made, "request")} made, ${failed ? `${whole(failed)} failed` : "none failed"}`;
}

function Failures({ kinds }: { kinds: readonly FailureKind[] }) {
  const columns: Column<FailureKind>[] = [
    { name: "kind", head: "Failed requests", cell: ({ words }) => <span class="worse">{words}</span>, heads: true },
    { name: "count", head: "Count", cell: (kind) => whole(kind.count), by: (kind) => kind.count, number: true },
    { name: "first", head: "The first said", cell: ({ first }) => <span class="requests-said">{first}</span> },
  ];
  return <Table caption="Failed requests by class" columns={columns} rows={kinds} keyOf={(kind) => kind.kind} />;
}

function OverTime({
  requests,
  timed,
  timelines,
}: {
  requests: RequestsView;
  timed: readonly Distribution[];
  timelines: readonly Timeline[];
}) {
  const failed = requests.failed_at;
  const last = Math.max(...timed.map(({ over_time }) => over_time.at(-1)![0]), ...failed.map(([at]) => at));
  const x = scale(0, last);
  const longest = Math.max(
    ...timed.flatMap(({ over_time }) => over_time.map(([, took]) => took)),
    ...failed.map(([, took]) => took),
  );
  const y = scale(0, longest * 1.05, { count: 4 });
  const write = (at: number) => plain(value(at, "s"));
  const moments = timed.map(({ over_time }) => over_time.map(([at]) => at));
  const read = (at: number) =>
    timed
      .map(({ column, over_time }, i) => {
        const one = over_time[nearest(moments[i]!, at)];
        return one ? `${TITLES[column]} ${value(one[1], "s")} at ${value(one[0], "s")}` : "";
      })
      .filter(Boolean)
      .join(", ");
  return (
    <figure class="panel requests-over-time">
      <figcaption>
        <strong>Requests over time</strong>{" "}
        {timed.map(({ column }, i) => (
          <span key={column} class="requests-key">
            <Swatch index={i} /> {TITLES[column]}
          </span>
        ))}
        {failed.length > 0 && <span class="requests-key worse">× failed</span>}
      </figcaption>
      <Plot
        label={`Latency of ${madeText(requests)}, by when they ended`}
        x={x}
        y={y}
        writeX={write}
        writeY={write}
        read={read}
        height={230}
      >
        {(px, py) => (
          <>
            {timed.map(({ column, over_time }, i) => (
              <path
                key={column}
                class={`requests-dots tone-${i}`}
                d={over_time.map(([at, took]) => `M${px(at).toFixed(1)},${py(took).toFixed(1)}h0`).join("")}
              />
            ))}
            {failed.map(([at, took, kind], i) => (
              <path
                key={i}
                class="requests-failed"
                d={`M${(px(at) - 4).toFixed(1)},${(py(took) - 4).toFixed(1)}l8,8m0,-8l-8,8`}
              >
                <title>{`failed: ${kind.replaceAll("_", " ")} at ${value(at, "s")}`}</title>
              </path>
            ))}
          </>
        )}
      </Plot>
      {timelines
        .filter(({ seconds }) => seconds.length > 1)
        .map((timeline, i) => (
          <Beside key={timeline.name} timeline={timeline} x={x} tone={(i + 2) % 8} />
        ))}
    </figure>
  );
}

/** What a monitor or the server itself told meanwhile, on the axis of the requests. */
function Beside({ timeline, x, tone }: { timeline: Timeline; x: Scale; tone: number }) {
  const { name, unit, seconds, values } = timeline;
  const y = scale(Math.min(0, ...values), Math.max(...values) * 1.05 || 1, { count: 2 });
  const write = (at: number) => plain(value(at, unit));
  const inside = seconds.flatMap((at, i): [number, number][] =>
    at >= x.low && at <= x.high ? [[at, values[i]!]] : [],
  );
  const shown = name.replaceAll("_", " ");
  const read = (at: number) => {
    const i = nearest(seconds, at);
    return i < 0 ? "" : `${shown} ${value(values[i]!, unit)} at ${value(seconds[i]!, "s")}`;
  };
  return (
    <div class="requests-beside">
      <p class="soft small">{shown}</p>
      <Plot
        label={`${shown} meanwhile`}
        x={x}
        y={y}
        writeX={(at) => plain(value(at, "s"))}
        writeY={write}
        read={read}
        height={96}
      >
        {(px, py) => (
          <polyline
            class={`plot-line tone-${tone}`}
            points={inside.map(([at, one]) => `${px(at).toFixed(1)},${py(one).toFixed(1)}`).join(" ")}
          />
        )}
      </Plot>
    </div>
  );
}

function Waterfall({ requests }: { requests: readonly RequestLine[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const zeros = zerosOf(requests);
  const drawn = requests.map((request, i) => shift(request, zeros[i]!));
  const [low, high] = extent(drawn);
  const x = scale(low, high, { count: width < 600 ? 3 : 6 });
  const px = (at: number) => 4 + x.place(at) * (width - 12);
  const bottom = requests.length * BAR;
  const write = (at: number) => plain(value(at, "s"));
  return (
    <figure class="panel">
      <figcaption>
        <strong>Waterfall of the slowest requests</strong>{" "}
        {PARTS.map(([kind, words]) => (
          <span key={kind} class="requests-key">
            <span class={`requests-swatch part-${kind}`} /> {words}
          </span>
        ))}
        {requests.some(({ outcome }) => outcome) && (
          <span class="requests-key">
            <span class="requests-swatch part-failed" /> failed
          </span>
        )}
      </figcaption>
      <div class="plot" ref={place}>
        <svg
          width={width}
          height={bottom + 24}
          role="img"
          aria-label={`${requests.length} requests, each from its scheduled instant to its end`}
        >
          <g class="plot-axes" aria-hidden="true">
            {spaced(x.ticks, px, write).map((tick) => (
              <g key={tick}>
                <line x1={px(tick)} x2={px(tick)} y1={0} y2={bottom} />
                <text x={px(tick)} y={bottom + 17} text-anchor="middle">
                  {write(tick)}
                </text>
              </g>
            ))}
          </g>
          {requests.map((request, i) => (
            <Bar
              key={`${request.copy}.${request.number}`}
              request={drawn[i]!}
              words={tell(request)}
              y={i * BAR}
              px={px}
            />
          ))}
        </svg>
      </div>
      <p class="soft small">
        In the order in which they were scheduled; each tick is an event that brought text. Times are since{" "}
        {zeros.some((zero) => zero !== 0) ? "each was scheduled" : "the clock started"}.
      </p>
    </figure>
  );
}

interface BarProps {
  request: RequestLine;
  words: string;
  y: number;
  px: (at: number) => number;
}

function Bar({ request, words, y, px }: BarProps) {
  const tall = BAR - 2;
  const left = px(request.scheduled);
  return (
    <g>
      <title>{words}</title>
      {partsOf(request).map(({ kind, from, to }) => (
        <rect
          key={kind}
          class={`part-${kind}`}
          x={px(from)}
          y={y}
          width={Math.max(0.5, px(to) - px(from))}
          height={tall}
        />
      ))}
      <path
        class="requests-ticks"
        d={request.ticks.map((at) => `M${px(at).toFixed(1)},${y + 1}v${tall - 2}`).join("")}
      />
      {request.outcome && (
        <rect class="part-failed" x={left} y={y} width={Math.max(2, px(request.end) - left)} height={tall} />
      )}
    </g>
  );
}
