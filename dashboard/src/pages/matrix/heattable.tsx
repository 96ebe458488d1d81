// A heat map that is a table: a number in every cell, a colour behind it, a way to its history.
//   <HeatTable matrix={matrix} heat={heatScale(matrix, base)} />
// Arrow keys, Home and End go from cell to cell; one cell at a time is a stop of the Tab key.

import { useState } from "preact/hooks";
import { href } from "../../route";
import type { Cell, Matrix, Missing } from "../../shapes";
import { count, estimate, interval, number } from "../../parts/format";
import { columnMean, nameOf, type Heat, type HeatScale } from "./heat";

interface Props {
  matrix: Matrix;
  heat: HeatScale;
}

const STEPS: { [key: string]: [number, number] } = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

export function HeatTable({ matrix, heat }: Props) {
  const [kept, setStop] = useState<[number, number]>([0, 0]);
  const cells = new Map(matrix.cells.map((cell) => [`${cell.row} ${cell.column}`, cell]));
  const missing = new Map(matrix.missing.map((one) => [`${one.row} ${one.column}`, one]));
  const { rows, columns } = matrix;
  const stop = [Math.min(kept[0], rows.length - 1), Math.min(kept[1], columns.length - 1)] as const; // another matrix may be smaller
  const keys = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const row = Math.min(rows.length - 1, Math.max(0, stop[0] + step[0]));
    const column = Math.min(columns.length - 1, Math.max(0, stop[1] + step[1]));
    setStop([row, column]);
    (event.currentTarget as Element).querySelector<HTMLElement>(`[data-place="${row} ${column}"]`)?.focus();
  };
  return (
    <div class="heat-room">
      <table class="heat" onKeyDown={keys}>
        <caption class="aside">
          {matrix.metric} by {matrix.row_dimension} and {matrix.column_dimension}; arrow keys go from cell to cell
        </caption>
        <thead>
          <tr>
            <td class="heat-corner soft">
              {matrix.row_dimension} ╲ {matrix.column_dimension}
            </td>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {nameOf(column, matrix.column_dimension)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={row}>
              <th scope="row">{nameOf(row, matrix.row_dimension)}</th>
              {columns.map((column, j) => {
                const place = {
                  "data-place": `${i} ${j}`,
                  tabIndex: stop[0] === i && stop[1] === j ? 0 : -1,
                  onFocus: () => setStop([i, j]),
                };
                const cell = cells.get(`${i} ${j}`);
                const tried = missing.get(`${i} ${j}`);
                return cell ? (
                  <Valued key={column} cell={cell} matrix={matrix} heat={heat} place={place} tried={tried} />
                ) : (
                  <None key={column} tried={tried} place={place} />
                );
              })}
            </tr>
          ))}
        </tbody>
        {heat.relative && rows.length > 1 && <Means matrix={matrix} heat={heat} />}
      </table>
    </div>
  );
}

interface Place {
  "data-place": string;
  tabIndex: number;
  onFocus: () => void;
}

interface ValuedProps {
  cell: Cell;
  matrix: Matrix;
  heat: HeatScale;
  place: Place;
  tried: Missing | undefined;
}

function Valued({ cell, matrix, heat, place, tried }: ValuedProps) {
  const { tone, strength } = heat.of(cell);
  const ratio = heat.relative ? heat.shown(cell) : null;
  const point = estimate(cell.estimate, matrix.unit);
  const within = interval(cell.estimate, matrix.unit);
  const held = cell.is_held ? "; measured in quarantine, not judged" : "";
  const price = cell.price ? `; at ${cell.price}` : "";
  const since = tried ? `; ${tried.status} since: ${tried.reason}` : "";
  const row = nameOf(matrix.rows[cell.row] ?? "", matrix.row_dimension);
  const column = nameOf(matrix.columns[cell.column] ?? "", matrix.column_dimension);
  const title = `${row}, ${column}: ${point} ${within}${STANDINGS[cell.standing] ?? ""}${held}${price}${since}`;
  return (
    <td class={`heat-${tone}`} style={{ "--heat": strength.toFixed(3) }}>
      <a href={href("series", [cell.series])} title={title} {...place}>
        {ratio === null ? point : `×${number(ratio)}`}
        <span class="heat-small">{ratio === null ? within : point}</span>
        {tried && <span class="heat-small worse">{`${tried.status} since`}</span>}
        {cell.is_held && <span class="heat-small">measured in quarantine</span>}
        {cell.standing && (
          <span class={`heat-small heat-${cell.standing}`}>{cell.standing === "best" ? "★ best" : "≈ tied"}</span>
        )}
        {(tone === "better" || tone === "worse") && <span class="aside"> {tone}</span>}
      </a>
    </td>
  );
}

const STANDINGS: { [standing: string]: string } = {
  best: "; best of its row",
  tied: "; cannot be told apart from the best of its row",
};

/** A try without a number tells why; a place that was never tried says so. */
function None({ tried, place }: { tried: Missing | undefined; place: Place }) {
  return (
    <td class="heat-missing">
      {tried ? (
        <a href={href("results", [tried.result])} title={tried.reason} {...place}>
          <span class="worse">{tried.status}</span>
          <span class="heat-small">{tried.reason}</span>
        </a>
      ) : (
        <span {...place}>not measured</span>
      )}
    </td>
  );
}

function Means({ matrix, heat }: { matrix: Matrix; heat: HeatScale }) {
  return (
    <tfoot>
      <tr>
        <th scope="row" title="over the rows where it can be compared">
          geometric mean
        </th>
        {matrix.columns.map((column, j) => {
          const mean = columnMean(matrix, heat, j);
          return (
            <td key={column}>
              {mean ? `×${number(mean.mean)}` : "–"}
              {mean && <span class="heat-small">{count(mean.rows, "row")}</span>}
            </td>
          );
        })}
      </tr>
    </tfoot>
  );
}

/** What the colours mean. */
export function HeatLegend({ heat, better, marked }: { heat: HeatScale; better: string; marked: boolean }) {
  const said = better ? `${better} is better` : "";
  return (
    <div class="heat-legend" role="group" aria-label="What the colours mean">
      {heat.legend.map(({ heat: one, words }, i) => (
        <Step key={i} heat={one} words={words} />
      ))}
      <span class="heat-step heat-missing">no value</span>
      {said && <span class="soft small">{said}</span>}
      {marked && (
        <span class="soft small">
          ★ best of its row; ≈ cannot be told apart from it: in at least 95 % of rows the marked cells hold the one that
          is truly best
        </span>
      )}
    </div>
  );
}

function Step({ heat, words }: { heat: Heat; words: string }) {
  return (
    <span class={`heat-step heat-${heat.tone}`} style={{ "--heat": heat.strength.toFixed(3) }}>
      {words}
    </span>
  );
}
