// Records as a server sends them, whole, with what a test cares about put in.

import type {
  CauseLine,
  Cell,
  ComparedLine,
  Comparison,
  Estimate,
  FindingLine,
  Mark,
  Matrix,
  Operator,
  SeriesLine,
  SeriesView,
  Verdict,
} from "../src/shapes";

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
    code: {},
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
    rounds: [],
    branch: [],
    branches: [],
    main: "",
    committed: [],
    releases: [],
    quarantines: [],
    repository: [],
    repositories: [],
    prices: [],
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
        : [
            {
              row,
              column,
              estimate: estimate(point),
              relative: null,
              series: "",
              result: "",
              run: "",
              standing: "",
              is_held: false,
              price: "",
            },
          ],
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
    row_count: rows.length,
    column_count: columns.length,
    next: "",
  };
}

/** One row of a comparison; the verdicts are those of the second side and of further ones. */
export function comparedLine(name: string, part: Partial<ComparedLine> = {}, ...further: Verdict[]): ComparedLine {
  return {
    case: name,
    params: {},
    metric: "latency_p50",
    unit: "s",
    better: "lower",
    before: estimate(1),
    after: estimate(1),
    ratio: estimate(1),
    verdict: "unclear",
    sentence: "unclear",
    before_result: "",
    after_result: "",
    series: [name],
    machine: "",
    suite: name,
    others: further.map((verdict) => ({
      after: estimate(1),
      ratio: estimate(1),
      verdict,
      sentence: verdict,
      result: "",
      series: "",
    })),
    ...part,
  };
}

export function comparison(lines: ComparedLine[]): Comparison {
  const side = { given: "run:a", label: "a", runs: ["a"], at: 0, revision: "", repository: "" };
  return {
    a: side,
    b: side,
    lines,
    differences: [],
    across: [],
    params: [],
    metrics: ["latency_p50"],
    counts: {},
    notes: [],
    others: [],
    other_counts: [],
    means: [],
    total: lines.length,
    changed: 0,
    found: lines.length,
    fitting: lines.length,
    judged: ["latency_p50"],
    control: "",
    code: {},
    next: "",
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
    revisions: [],
    repository: "",
    cause: "cause-1",
    ...part,
  };
}

export function cause(id: string, part: Partial<CauseLine> = {}): CauseLine {
  return {
    id,
    lead: finding("f1"),
    culprit: null,
    findings: 1,
    series: 1,
    cases: 1,
    worse: 1,
    better: 0,
    largest: 1.1,
    median: 1.1,
    metrics: ["latency_p50"],
    machines: { m1: "lab" },
    suites: ["nightly"],
    state: "open",
    states: { open: 1 },
    assignees: [],
    found_at: 0,
    newest_at: 0,
    ...part,
  };
}
