// Matrix: any metric by two dimensions, as values or relative to a column or to the best of each row.
// In the address: metric, rows, columns, baseline (a column), best, and each further dimension by its name.

import { isThere, useData, useLast, type Query } from "../api";
import { CopyLink } from "../parts/copy";
import { Answered, Empty } from "../parts/states";
import { change } from "../route";
import type { Matrix } from "../shapes";
import type { PageProps } from "../shell";
import { heatScale, nameOf, type Base } from "./matrix/heat";
import { HeatLegend, HeatTable } from "./matrix/heattable";
import "./matrix/matrix.css";

const BEST = "best of each row";

export function MatrixPage({ route }: PageProps) {
  // What cells are relative to is worked out here, so that a published site needs one file for all of it.
  const { baseline = "", best = "", ...asked } = route.query;
  const answer = useLast(useData<Matrix>("matrix", asked));
  return (
    <div class="stack">
      <div class="row">
        <h1>Matrix</h1>
        <span class="push">
          <CopyLink />
        </span>
      </div>
      <Answered answer={answer}>
        {(matrix) =>
          matrix.metrics.length ? (
            <Shown matrix={matrix} base={baseOf(matrix, baseline, best)} asked={asked} />
          ) : (
            <Empty title="There are no values yet.">
              <p>
                Measure something with two backends:{" "}
                <code>benchwright run model.onnx --runtime onnxruntime,openvino</code>
              </p>
            </Empty>
          )
        }
      </Answered>
    </div>
  );
}

function baseOf(matrix: Matrix, baseline: string, best: string): Base {
  if (best) return "best";
  return matrix.columns.includes(baseline) ? { column: baseline } : null;
}

function Shown({ matrix, base, asked }: { matrix: Matrix; base: Base; asked: Query }) {
  const heat = heatScale(matrix, base);
  return (
    <>
      <Controls matrix={matrix} base={base} asked={asked} />
      {matrix.rows.length ? (
        <>
          <HeatLegend heat={heat} better={matrix.better} />
          <HeatTable matrix={matrix} heat={heat} />
        </>
      ) : (
        <Empty title="Nothing was measured for this choice.">
          <p>Another value of the dimensions above may have some.</p>
        </Empty>
      )}
    </>
  );
}

function Controls({ matrix, base, asked }: { matrix: Matrix; base: Base; asked: Query }) {
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
      <Choice
        label="Metric"
        value={matrix.metric}
        options={matrix.metrics.filter((metric) => can({ metric }))}
        onChange={(metric) => change({ metric })}
      />
      <Choice
        label="Rows"
        value={rows}
        options={matrix.dimensions.filter((name) => can(toRows(name)))}
        onChange={(to) => change(toRows(to))}
      />
      <Choice
        label="Columns"
        value={columns}
        options={matrix.dimensions.filter((name) => can(toColumns(name)))}
        onChange={(to) => change(toColumns(to))}
      />
      {can(turned) && (
        <button type="button" onClick={() => change(turned)}>
          Swap
        </button>
      )}
      <Choice
        label="Relative to"
        value={relative}
        options={["", BEST, ...matrix.columns]}
        called={(option) => (option ? nameOf(option, columns) : "nothing: values")}
        onChange={setRelative}
      />
      {fixed.map(([name, choices]) => (
        <Choice
          key={name}
          label={name}
          value={matrix.chosen[name] ?? ""}
          options={choices.filter((to) => can({ [name]: to }))}
          called={(option) => nameOf(option, name)}
          onChange={(to) => change({ [name]: to })}
        />
      ))}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly string[];
  called?: (option: string) => string;
  onChange: (value: string) => void;
}

function Choice({ label, value, options, called = String, onChange }: ChoiceProps) {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {called(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
