// Sweeps of users or rates of a served model: throughput against latency with the knee, goodput against the rate.
//   <Sweeps sweeps={run.sweeps} />

import type { Estimate, SweepLine, SweepMark } from "../../shapes";
import { Swatch } from "../../parts/badges";
import { estimate, value } from "../../parts/format";
import { Plot, type Pixels } from "../../parts/plot";
import { plain, scale, type Scale } from "../../parts/scale";
import { href } from "../../route";
import { axisOf, closest, goodputs } from "./sweeppoints";
import "./sweeps.css";

export function Sweeps({ sweeps }: { sweeps: readonly SweepLine[] }) {
  if (!sweeps.length) return null;
  return (
    <section class="section">
      <h2>Load and latency</h2>
      {sweeps.map((sweep) => (
        <One key={`${sweep.label} ${sweep.kind}`} sweep={sweep} />
      ))}
    </section>
  );
}

function One({ sweep }: { sweep: SweepLine }) {
  const knee = sweep.points[sweep.knee];
  return (
    <div class="panel">
      {sweep.label && <h3>{sweep.label}</h3>}
      <p>
        {sweep.text}
        {knee && (
          <>
            {". "}
            <a href={href("results", [knee.result])}>Its result</a>
          </>
        )}
      </p>
      <div class="plots">
        <Curve sweep={sweep} />
        <Goodput sweep={sweep} />
      </div>
    </div>
  );
}

/** Times the highest throughput: so far intervals are drawn, of which one of two rounds may be ten times as long. */
const BEYOND = 2.5;

function Curve({ sweep }: { sweep: SweepLine }) {
  const { points, knee } = sweep;
  const x = axisOf(
    points.map((point) => point.latency),
    false,
  );
  const top = BEYOND * Math.max(...points.map(({ throughput }) => throughput.point));
  const y = axisOf(
    points.map(({ throughput }) => ({ ...throughput, high: throughput.high && Math.min(throughput.high, top) })),
    true,
  );
  const read = (at: number) => {
    const point = points[closest(points, at)];
    return point ? `${point.words}: ${said(point)}` : "";
  };
  const knees = points[knee];
  return (
    <figure>
      <figcaption>Throughput against median latency</figcaption>
      <Plot
        label={`Throughput against latency of ${points.length} cases${knees ? `, the knee at ${knees.words}` : ""}`}
        x={x}
        y={y}
        writeX={(at) => plain(value(at, "s"))}
        writeY={(at) => plain(value(at, "/s"))}
        read={read}
        height={280}
      >
        {(px, py) => (
          <g class="tone-0">
            <polyline
              class="plot-line"
              points={points.map((p) => `${px(p.latency.point)},${py(p.throughput.point)}`).join(" ")}
            />
            {points.map((point, i) => (
              <Mark key={point.load} point={point} px={px} py={py} x={x} top={top} isKnee={i === knee} />
            ))}
          </g>
        )}
      </Plot>
    </figure>
  );
}

interface MarkProps {
  point: SweepMark;
  px: Pixels;
  py: Pixels;
  x: Scale;
  top: number;
  isKnee: boolean;
}

function Mark({ point, px, py, x, top, isKnee }: MarkProps) {
  const { latency, throughput, words } = point;
  const [left, up] = [px(latency.point), py(throughput.point)];
  const turned = x.place(latency.point) > 0.7;
  return (
    <g class="plot-mark">
      <title>{`${words}: ${said(point)}`}</title>
      {latency.low !== null && latency.high !== null && (
        <line x1={px(latency.low)} x2={px(latency.high)} y1={up} y2={up} />
      )}
      {throughput.low !== null && throughput.high !== null && (
        <line x1={left} x2={left} y1={py(throughput.low)} y2={py(Math.min(throughput.high, top))} />
      )}
      <circle cx={left} cy={up} r={4} />
      {isKnee && <circle class="sweep-knee" cx={left} cy={up} r={9} />}
      <text
        class="sweep-label"
        x={left + (turned ? -12 : 12)}
        y={up + (isKnee ? -8 : 16)}
        text-anchor={turned ? "end" : "start"}
      >
        {isKnee ? `${words}, knee` : words}
      </text>
    </g>
  );
}

function Goodput({ sweep }: { sweep: SweepLine }) {
  const lines = goodputs(sweep);
  if (!lines) return null;
  const x = scale(0, Math.max(...sweep.points.map(({ load }) => load)) * 1.05);
  const all = lines.flatMap(({ values }) => values.map(([, one]) => ({ ...one, low: null, high: null })));
  const y = axisOf(all, true);
  const read = (at: number) => {
    const i = closest(sweep.points, at, ({ load }) => load);
    const told = lines.map(({ name, values }) => `${name} ${estimateText(values[i]?.[1] ?? null)}`);
    return `asked for ${sweep.points[i]?.words ?? ""}: ${told.join(", ")}`;
  };
  return (
    <figure>
      <figcaption>
        Goodput against the rate asked for{" "}
        {lines.map(({ name }, i) => (
          <span key={name} class="sweep-key">
            <Swatch index={i} /> {name}
          </span>
        ))}
      </figcaption>
      <Plot
        label={`Requests that succeeded and kept every objective, at ${sweep.points.length} rates`}
        x={x}
        y={y}
        writeX={(at) => plain(value(at, "/s"))}
        writeY={(at) => plain(value(at, "/s"))}
        read={read}
        height={280}
      >
        {(px, py) =>
          lines.map(({ name, values }, i) => (
            <g key={name} class={`plot-mark tone-${i}`}>
              <polyline
                class={`plot-line tone-${i}`}
                points={values.map(([load, one]) => `${px(load)},${py(one.point)}`).join(" ")}
              />
              {values.map(([load, one]) => (
                <circle key={load} cx={px(load)} cy={py(one.point)} r={3} />
              ))}
            </g>
          ))
        }
      </Plot>
    </figure>
  );
}

function said({ throughput, latency }: SweepMark): string {
  return `${estimate(throughput, "/s")} at ${estimate(latency, "s")}`;
}

function estimateText(one: Estimate | null): string {
  return one ? estimate(one, "/s") : "nothing";
}
