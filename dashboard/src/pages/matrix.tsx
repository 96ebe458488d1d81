// Matrix: any metric by two dimensions, as values or relative to a column or to the best of each row; or configurations
// by two metrics (view=pareto).
// In the address: metric, rows, columns, baseline (a column), best, colours (row, column or whole), after (rows), and each
// further dimension by its name.

import { isThere, useData, useLast, type Query } from "../api";
import { CopyLink } from "../parts/copy";
import { PriceBases } from "../parts/prices";
import { Answered, Empty } from "../parts/states";
import { change, href } from "../route";
import type { Matrix } from "../shapes";
import type { PageProps } from "../shell";
import { heatScale, nameOf, SHADES, type Base, type Shade } from "./matrix/heat";
import { HeatLegend, HeatTable } from "./matrix/heattable";
import "./matrix/matrix.css";
import { ParetoView } from "./matrix/pareto";
import { Select } from "./matrix/select";

const BEST = "best of each row";

export function MatrixPage({ route }: PageProps) {
  const isPareto = route.query["view"] === "pareto";
  return (
    <div class="stack">
      <div class="row">
        <h1>Matrix</h1>
        <nav class="row matrix-views" aria-label="View">
          <a href={href("matrix")} aria-current={isPareto ? undefined : "page"}>
            By dimensions
          </a>
          {isThere("pareto") && (
            <a href={href("matrix", [], { view: "pareto" })} aria-current={isPareto ? "page" : undefined}>
              By two metrics
            </a>
          )}
        </nav>
        <span class="push">
          <CopyLink />
        </span>
      </div>
      {isPareto ? <ParetoView query={route.query} /> : <MatrixView query={route.query} />}
    </div>
  );
}

function MatrixView({ query }: { query: Query }) {
  // What cells are relative to is worked out here, so that a published site needs one file for all of it.
  const { baseline = "", best = "", colours = "", ...asked } = query;
  const answer = useLast(useData<Matrix>("matrix", asked));
  return (
    <Answered answer={answer}>
      {(matrix) =>
        matrix.metrics.length ? (
          <Shown matrix={matrix} base={baseOf(matrix, baseline, best)} shade={shadeOf(colours)} asked={asked} />
        ) : (
          <Empty title="No values yet.">
            <p>
              Measure something with two runtimes:{" "}
              <code>benchwright run model.onnx --runtime onnxruntime,openvino</code>
            </p>
          </Empty>
        )
      }
    </Answered>
  );
}

function shadeOf(given: string): Shade {
  return SHADES.find((shade) => shade === given) ?? "row";
}

function baseOf(matrix: Matrix, baseline: string, best: string): Base {
  if (best) return "best";
  return matrix.columns.includes(baseline) ? { column: baseline } : null;
}

interface ShownProps {
  matrix: Matrix;
  base: Base;
  shade: Shade;
  asked: Query;
}

function Shown({ matrix, base, shade, asked }: ShownProps) {
  const heat = heatScale(matrix, base, shade);
  const marked = matrix.cells.some((cell) => cell.standing);
  return (
    <>
      <Controls matrix={matrix} base={base} shade={shade} asked={asked} />
      {matrix.rows.length ? (
        <>
          <HeatLegend heat={heat} better={matrix.better} marked={marked} />
          <HeatTable matrix={matrix} heat={heat} />
          <PriceBases prices={matrix.cells.map((cell) => cell.price)} />
          <LeftOut matrix={matrix} />
          <RowPages matrix={matrix} asked={asked} />
        </>
      ) : (
        <Empty title="No results for this selection.">
          <p>Select another value above.</p>
        </Empty>
      )}
    </>
  );
}

/** What a wide matrix leaves out. */
function LeftOut({ matrix }: { matrix: Matrix }) {
  if (matrix.columns.length >= matrix.column_count) return null;
  return (
    <p class="soft">
      The first {matrix.columns.length} of {matrix.column_count} columns. Swap rows and columns to see the others in
      pages.
    </p>
  );
}

/** Rows come in pages where there are many. */
function RowPages({ matrix, asked }: { matrix: Matrix; asked: Query }) {
  const first = Number(asked["after"] ?? 0);
  if (!first && !matrix.next) return null;
  return (
    <nav class="row" aria-label="Pages">
      <span class="soft">
        Rows {first + 1} to {first + matrix.rows.length} of {matrix.row_count}
      </span>
      {first > 0 && (
        <button type="button" onClick={() => change({ after: undefined })}>
          First rows
        </button>
      )}
      {matrix.next && (
        <button type="button" onClick={() => change({ after: matrix.next })}>
          Next rows
        </button>
      )}
    </nav>
  );
}

function Controls({ matrix, base, shade, asked }: ShownProps) {
  const { row_dimension: rows, column_dimension: columns } = matrix;
  const turned = { rows: columns, columns: rows, baseline: undefined };
  const fixed = Object.entries(matrix.choices).filter(
    ([name, choices]) => name !== rows && name !== columns && choices.length > 1,
  );
  const relative = base === null ? "" : base === "best" ? BEST : base.column;
  const can = ({ baseline: _, ...changes }: Query) => isThere("matrix", { ...asked, ...changes }); // a site has not everything
  const setRelative = (to: string) =>
    change(to === BEST ? { best: "1", baseline: undefined } : { best: undefined, baseline: to });
  const toRows = (to: string) => (to === columns ? turned : { rows: to, baseline: undefined });
  const toColumns = (to: string) => (to === rows ? turned : { columns: to, baseline: undefined });
  return (
    <div class="row filters">
      <Select
        label="Metric"
        value={matrix.metric}
        options={matrix.metrics.filter((metric) => can({ metric }))}
        onChange={(metric) => change({ metric, after: undefined })}
      />
      <Select
        label="Rows"
        value={rows}
        options={matrix.dimensions.filter((name) => can(toRows(name)))}
        onChange={(to) => change({ ...toRows(to), after: undefined })}
      />
      <Select
        label="Columns"
        value={columns}
        options={matrix.dimensions.filter((name) => can(toColumns(name)))}
        onChange={(to) => change({ ...toColumns(to), after: undefined })}
      />
      {can(turned) && (
        <button type="button" onClick={() => change(turned)}>
          Swap
        </button>
      )}
      <Select
        label="Relative to"
        value={relative}
        options={["", BEST, ...matrix.columns]}
        called={(option) => (option ? nameOf(option, columns) : "absolute values")}
        onChange={setRelative}
      />
      {base === null && (
        <Select
          label="Colours by"
          value={shade}
          options={SHADES}
          called={(option) => (option === "whole" ? "all cells" : option)}
          onChange={(colours) => change({ colours: colours === "row" ? undefined : colours }, true)}
        />
      )}
      {fixed.map(([name, choices]) => (
        <Select
          key={name}
          label={name}
          value={matrix.chosen[name] ?? ""}
          options={choices.filter((to) => can({ [name]: to }))}
          called={(option) => nameOf(option, name)}
          onChange={(to) => change({ [name]: to, after: undefined })}
        />
      ))}
    </div>
  );
}
