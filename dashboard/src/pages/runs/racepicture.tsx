// The configurations of a race by two metrics, with the front that no other beats in both.
//   <RaceFront race={race} axes={axes} spots={spots} />

import { Fragment } from "preact";
import { axisAround, besideTick, Called, stairs } from "../../parts/front";
import { estimate, value } from "../../parts/format";
import { Plot, type Pixels } from "../../parts/plot";
import { plain } from "../../parts/scale";
import { change } from "../../route";
import type { RaceView } from "../../shapes";
import { Select } from "../matrix/select";
import { drawable, look, upperFirst, withRoom, type Axes, type RaceSpot } from "./racefront";

interface FrontProps {
  race: RaceView;
  axes: Axes;
  spots: readonly RaceSpot[];
}

export function RaceFront({ race, axes, spots }: FrontProps) {
  const names = drawable(race).map(({ name }) => name);
  const called = (name: string) => race.metrics.find((metric) => metric.name === name)?.title ?? name;
  const { across, up } = axes;
  return (
    <div class="stack-tight">
      <div class="row filters">
        <Select
          label="Across"
          value={across.name}
          options={names.filter((name) => name !== up.name)}
          called={called}
          onChange={(name) => change({ across: name, up: up.name }, true)}
        />
        <Select
          label="Upward"
          value={up.name}
          options={names.filter((name) => name !== across.name)}
          called={called}
          onChange={(name) => change({ up: name, across: across.name }, true)}
        />
      </div>
      <p class="soft">
        {`${upperFirst(up.title)} (${up.better} is better) against ${across.title} (${across.better} is better). Of those on the `}
        front, drawn as ◆, no other is better in one and no worse in the other, by their values.
      </p>
      <div class="panel">
        <Picture axes={axes} spots={spots} />
        <Legend spots={spots} />
      </div>
    </div>
  );
}

function Picture({ axes: { across, up }, spots }: { axes: Axes; spots: readonly RaceSpot[] }) {
  const x = axisAround(spots.map((spot) => spot.x));
  const y = axisAround(spots.map((spot) => spot.y));
  const front = spots.filter(({ isFront }) => isFront);
  const gap = (spot: RaceSpot, at: number) => Math.abs(x.place(spot.x.point) - x.place(at));
  const read = (at: number) => {
    const near = spots.reduce((best, spot) => (gap(spot, at) < gap(best, at) ? spot : best));
    const values = `${across.title} ${estimate(near.x, across.unit)}, ${up.title} ${estimate(near.y, up.unit)}`;
    return `${near.cell.label}: ${values}; ${look(near.cell).word}${near.isFront ? ", on the front" : ""}`;
  };
  // Who left lies below: those that matter are seen where many lie on one place.
  const inOrder = [...spots].sort((a, b) => weight(a) - weight(b));
  return (
    <Plot
      label={`${up.title} against ${across.title} of ${spots.length} configurations; on the front: ${front
        .map(({ cell }) => cell.label)
        .join(", ")}`}
      x={x}
      y={y}
      writeX={(at) => plain(value(at, besideTick(across.unit)))}
      writeY={(at) => plain(value(at, besideTick(up.unit)))}
      read={read}
      height={340}
    >
      {(px, py) => (
        <>
          <polyline class="front-border" points={stairs(front, px, py, across.better ?? "")} />
          {inOrder.map((spot) => (
            <Mark key={spot.cell.number} spot={spot} px={px} py={py} />
          ))}
          {withRoom(inOrder.filter(({ isFront }) => isFront).reverse(), (spot) => [
            px(spot.x.point),
            py(spot.y.point),
          ]).map((spot) => (
            <Called key={spot.cell.number} spot={spot} x={x} px={px} py={py} />
          ))}
        </>
      )}
    </Plot>
  );
}

function weight({ cell, isFront }: RaceSpot): number {
  const standing = ["left", "racing", "alike", "front", "leads"].indexOf(cell.state);
  return standing + (isFront ? 0.5 : 0);
}

function Mark({ spot: { cell, x, y, isFront }, px, py }: { spot: RaceSpot; px: Pixels; py: Pixels }) {
  const [left, top] = [px(x.point), py(y.point)];
  return (
    <g class={`race-mark tone-${look(cell).tone} ${isFront ? "on-front" : ""}`}>
      {x.low !== null && x.high !== null && <line x1={px(x.low)} x2={px(x.high)} y1={top} y2={top} />}
      {y.low !== null && y.high !== null && <line x1={left} x2={left} y1={py(y.low)} y2={py(y.high)} />}
      {isFront ? (
        <rect x={left - 5} y={top - 5} width="10" height="10" transform={`rotate(45 ${left} ${top})`} />
      ) : (
        <circle cx={left} cy={top} r="4.5" />
      )}
      {cell.state === "leads" && <circle class="race-ring" cx={left} cy={top} r="10" />}
    </g>
  );
}

/** What the colours mean, of those that are there; the table has the same in words. */
function Legend({ spots }: { spots: readonly RaceSpot[] }) {
  const seen = new Map(spots.map(({ cell }) => [look(cell).word, look(cell).tone]));
  return (
    <p class="race-legend small">
      {[...seen].map(([word, tone]) => (
        <Fragment key={word}>
          <span class="race-legend-entry">
            <svg width="12" height="12" aria-hidden="true" class={`race-mark tone-${tone}`}>
              <circle cx="6" cy="6" r="4.5" />
            </svg>
            {word}
          </span>{" "}
        </Fragment>
      ))}
    </p>
  );
}
