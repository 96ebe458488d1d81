// Configurations by two metrics: the front that no other beats, and what lies behind it.
// In the address: view=pareto, x and y (metrics), point (the chosen one), and each dimension by its name.

import { isStatic, isThere, useData, useLast, type Query } from "../../api";
import { estimate, interval, value } from "../../parts/format";
import { axisAround, besideTick, Called, stairs } from "../../parts/front";
import { Plot, type Pixels } from "../../parts/plot";
import { PriceBases } from "../../parts/prices";
import { plain, type Scale } from "../../parts/scale";
import { Answered, Empty } from "../../parts/states";
import { Table, type Column } from "../../parts/table";
import { change, href } from "../../route";
import type { Better, Estimate, Pareto, ParetoPoint } from "../../shapes";
import { Select } from "./select";

const EVERY = "*"; // of a dimension: not narrowed
const NAMED = 12; // points of the front that are named in the picture

export function ParetoView({ query }: { query: Query }) {
  const { view: _, point: __, ...asked } = query;
  const answer = useLast(useData<Pareto>("pareto", asked));
  return (
    <Answered answer={answer}>
      {(pareto) =>
        pareto.metrics.length > 1 ? (
          <Shown pareto={pareto} asked={asked} chosen={query["point"] ?? ""} />
        ) : (
          <Empty title="No two metrics to choose by.">
            <p>A metric takes part when it says which direction is better.</p>
          </Empty>
        )
      }
    </Answered>
  );
}

function Shown({ pareto, asked, chosen }: { pareto: Pareto; asked: Query; chosen: string }) {
  const front = pareto.points.filter((point) => point.standing === "front");
  const held = pareto.points.some((point) => point.is_held)
    ? ", or were measured in quarantine and are not judged"
    : "";
  return (
    <>
      <Controls pareto={pareto} asked={asked} />
      {pareto.points.length ? (
        <>
          <section class="section" aria-label="Pareto front">
            <h2>
              {front.length === 1
                ? `${front[0]!.label} is best in both`
                : `${front.length} of ${pareto.points.length} configurations are on the front`}
            </h2>
            <p class="soft">
              {`${pareto.x} (${pareto.x_better} is better) against ${pareto.y} (${pareto.y_better} is better). No other `}
              configuration is at least as good in both. Pale ones are dominated: another is better in one and no worse
              in the other, told apart at 5 % with all of them in view. Hollow ones lie behind by their values, but not
              by more than the measurements allow{held}.
            </p>
            <div class="panel">
              <Picture pareto={pareto} chosen={chosen} />
            </div>
            <PriceBases prices={pareto.points.map((point) => point.price)} />
          </section>
          <PointTable pareto={pareto} chosen={chosen} />
        </>
      ) : (
        <Empty title="No configuration has both metrics.">
          <p>Select other metrics, or another value above.</p>
        </Empty>
      )}
      {pareto.left_out > 0 && (
        <p class="soft small">
          {pareto.left_out} further configurations have one of the metrics only, or are not shown.
        </p>
      )}
    </>
  );
}

function Controls({ pareto, asked }: { pareto: Pareto; asked: Query }) {
  const can = (changes: Query) => isThere("pareto", { ...asked, ...changes }); // a site has not everything
  const to = (changes: Query) => change({ ...changes, point: undefined });
  const metrics = (axis: "x" | "y", other: string) =>
    pareto.metrics.filter((metric) => metric !== other && can({ [axis]: metric }));
  return (
    <div class="row filters">
      <Select
        label="Across"
        value={pareto.x}
        options={metrics("x", pareto.y)}
        onChange={(x) => to({ x, y: pareto.y })}
      />
      <Select
        label="Upward"
        value={pareto.y}
        options={metrics("y", pareto.x)}
        onChange={(y) => to({ y, x: pareto.x })}
      />
      {Object.entries(pareto.choices).map(([name, choices]) => (
        <Select
          key={name}
          label={name}
          value={pareto.chosen[name] ?? EVERY}
          options={[EVERY, ...choices].filter((one) => can({ [name]: one }))}
          called={(option) => (option === EVERY ? `all (${choices.length})` : option)}
          onChange={(one) => to({ [name]: one === EVERY && name !== "case" ? undefined : one })}
        />
      ))}
    </div>
  );
}

// ---- the picture ----

function Picture({ pareto, chosen }: { pareto: Pareto; chosen: string }) {
  const { points, x_unit: across, y_unit: upward } = pareto;
  const x = axisAround(points.map((point) => point.x));
  const y = axisAround(points.map((point) => point.y));
  const front = points.filter((point) => point.standing === "front");
  const inOrder = [...points].sort((a, b) => a.x.point - b.x.point);
  const read = (at: number) => {
    const near = inOrder.reduce((best, one) => (gap(x, one, at) < gap(x, best, at) ? one : best));
    return words(near, pareto);
  };
  const label = `${pareto.y} against ${pareto.x} of ${points.length} configurations; on the front: ${front
    .map((point) => point.label)
    .join(", ")}`;
  return (
    <Plot
      label={label}
      x={x}
      y={y}
      writeX={(at) => plain(value(at, besideTick(across)))}
      writeY={(at) => plain(value(at, besideTick(upward)))}
      read={read}
      height={340}
    >
      {(px, py) => (
        <>
          <polyline class="front-border" points={stairs(front, px, py, pareto.x_better as Better)} />
          {[...points].reverse().map((point) => (
            <Mark key={point.series.join()} point={point} px={px} py={py} isChosen={keyOf(point) === chosen} />
          ))}
          {front.slice(0, NAMED).map((point) => (
            <Called key={point.label} spot={point} x={x} px={px} py={py} />
          ))}
        </>
      )}
    </Plot>
  );
}

function gap(x: Scale, point: ParetoPoint, at: number): number {
  return Math.abs(x.place(point.x.point) - x.place(at));
}

function Mark({ point, px, py, isChosen }: { point: ParetoPoint; px: Pixels; py: Pixels; isChosen: boolean }) {
  const [x, y] = [px(point.x.point), py(point.y.point)];
  return (
    <g class={`pareto-mark ${point.standing}${isChosen ? " chosen" : ""}`}>
      {point.x.low !== null && point.x.high !== null && (
        <line x1={px(point.x.low)} x2={px(point.x.high)} y1={y} y2={y} />
      )}
      {point.y.low !== null && point.y.high !== null && (
        <line x1={x} x2={x} y1={py(point.y.low)} y2={py(point.y.high)} />
      )}
      {point.standing === "front" ? (
        <rect x={x - 5} y={y - 5} width="10" height="10" transform={`rotate(45 ${x} ${y})`} />
      ) : (
        <circle cx={x} cy={y} r="4.5" />
      )}
    </g>
  );
}

// ---- the same as a table ----

const SAID: { [standing: string]: string } = {
  front: "on the front",
  unclear: "cannot be told",
  dominated: "dominated",
};

/** How a configuration stands; one that was measured in quarantine is not judged. */
function said(point: ParetoPoint): string {
  return point.is_held ? "measured in quarantine" : SAID[point.standing]!;
}

function words(point: ParetoPoint, { x, y, x_unit, y_unit }: Pareto): string {
  return `${point.label}: ${x} ${estimate(point.x, x_unit)}, ${y} ${estimate(point.y, y_unit)}, ${said(point)}`;
}

function keyOf(point: ParetoPoint): string {
  return point.series[0] ?? point.label;
}

function PointTable({ pareto, chosen }: { pareto: Pareto; chosen: string }) {
  const by = (one: ParetoPoint) => (one.beaten_by === null ? undefined : pareto.points[one.beaten_by]);
  const columns: Column<ParetoPoint>[] = [
    {
      name: "label",
      head: "Configuration",
      heads: true,
      by: (one) => one.label,
      cell: (one) => (
        <button
          type="button"
          class="plain pareto-choose"
          aria-pressed={keyOf(one) === chosen}
          onClick={() => change({ point: keyOf(one) === chosen ? undefined : keyOf(one) }, true)}
        >
          {one.label}
        </button>
      ),
    },
    {
      name: "standing",
      head: "Standing",
      by: (one) => one.standing,
      cell: (one) => (
        <>
          <span class={`pareto-word ${one.standing}`}>{said(one)}</span>
          {by(one) && (
            <span class="soft small">{`${one.standing === "dominated" ? " by" : " behind"} ${by(one)!.label}`}</span>
          )}
        </>
      ),
    },
    measured(pareto.x, pareto.x_unit, (one) => one.x),
    measured(pareto.y, pareto.y_unit, (one) => one.y),
    {
      name: "history",
      head: "History",
      cell: (one) => (
        <a href={href("series", [one.series.join(",")])}>
          History<span class="aside"> of {one.label}</span>
        </a>
      ),
    },
  ];
  return (
    <section class="section" aria-label="Configurations">
      <Table
        caption={`Configurations by ${pareto.x} and ${pareto.y}, the front first`}
        columns={isStatic ? columns.slice(0, -1) : columns}
        rows={pareto.points}
        keyOf={(one) => one.series.join()}
        rowClass={(one) => (keyOf(one) === chosen ? "pareto-chosen" : "")}
        few={50}
        cards
      />
    </section>
  );
}

function measured(metric: string, unit: string, of: (one: ParetoPoint) => Estimate): Column<ParetoPoint> {
  return {
    name: metric,
    head: metric,
    number: true,
    by: (one) => of(one).point,
    cell: (one) => (
      <>
        {estimate(of(one), unit)}
        <div class="soft small">{interval(of(one), unit)}</div>
      </>
    ),
  };
}
