// Records as a server sends them, whole, with what a test cares about put in.

import type { Cell, Estimate, FindingLine, Mark, Matrix, Operator, SeriesLine, SeriesView } from "../src/shapes";

export function estimate(point: number, low: number | null = null, high: number | null = null): Estimate {
  return { point, low, high, confidence: 0.95, method: "bootstrap" };
}

export function operator(name: string, kind: string, shapes = "", seconds = 1e-3): Operator {
  return { name, kind, shapes, seconds, share: 0.1, calls: 1 };
}

export function seriesLine(part: Partial<SeriesLine> = {}): SeriesLine {
  return {
    key: "k",
    unit: "s",
    case: "resnet",
    params: {},
    metric: "latency_p50",
    better: "lower",
    machine: "m1",
    machine_name: "lab",
    count: 0,
    last_at: 0,
    last: null,
    spark: [],
    findings: [],
    ...part,
  };
}

export function seriesView(line: Partial<SeriesLine>, part: Partial<SeriesView> = {}): SeriesView {
  return {
    line: seriesLine(line),
    at: [],
    point: [],
    low: [],
    high: [],
    run: [],
    revision: [],
    result: [],
    runs: [],
    revisions: [],
    subjects: {},
    marks: [],
    notes: [],
    related: [],
    ...part,
  };
}

export function mark(at: number, before: number, after: number, until = at): Mark {
  return {
    at,
    until,
    finding: `f${at}`,
    verdict: after > before ? "worse" : "better",
    state: "open",
    effect: estimate(after / before),
    before: estimate(before),
    after: estimate(after),
    run: "r",
  };
}

export function matrix(better: string, columns: string[], ...rows: (number | null)[][]): Matrix {
  const cells = rows.flatMap((points, row) =>
    points.flatMap((point, column): Cell[] =>
      point === null
        ? []
        : [{ row, column, estimate: estimate(point), relative: null, series: "", result: "", run: "" }],
    ),
  );
  return {
    metric: "latency_p50",
    unit: "s",
    better,
    rows: rows.map((_, row) => `row${row}`),
    columns,
    cells,
    baseline: "",
    metrics: [],
    dimensions: [],
    row_dimension: "model",
    column_dimension: "runtime",
    chosen: {},
    choices: {},
    missing: [],
  };
}

export function finding(id: string, part: Partial<FindingLine> = {}): FindingLine {
  return {
    id,
    series: "k",
    unit: "s",
    case: "resnet",
    suite: "nightly",
    params: {},
    metric: "latency_p50",
    machine: "m1",
    machine_name: "lab",
    verdict: "worse",
    state: "open",
    before: estimate(1),
    after: estimate(1.1),
    effect: estimate(1.1),
    confidence: 0.99,
    found_at: 0,
    run: "r",
    assignee: "",
    culprit: null,
    spark: [],
    drift: null,
    ...part,
  };
}
