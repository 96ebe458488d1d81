// Generated from src/benchwright/pages/shapes.py and parts.py: `make types` writes it anew.

export type Scalar = string | number | boolean | null;
export type Value = Scalar | Value[] | { [name: string]: Value };

export interface SeriesLine {
  key: string;
  unit: string;
  case: string;
  params: { [name: string]: Scalar };
  metric: string;
  better: string;
  machine: string;
  machine_name: string;
  count: number;
  last_at: number;
  last: number | null;
  spark: number[];
  findings: string[];
}

export interface RunLine {
  id: string;
  started_at: number;
  cases: string[];
  results: number;
  failed: number;
  planned: number;
  revision: Revision | null;
  tags: string[];
}

export interface Revision {
  vcs: string;
  id: string;
  branch: string;
  dirty: boolean;
  committed_at: string;
  subject: string;
  author: string;
}

export interface FindingLine {
  id: string;
  series: string;
  unit: string;
  case: string;
  suite: string;
  params: { [name: string]: Scalar };
  metric: string;
  machine: string;
  machine_name: string;
  verdict: Verdict;
  state: State;
  before: Estimate;
  after: Estimate;
  effect: Estimate;
  confidence: number | null;
  found_at: number;
  run: string;
  assignee: string;
  culprit: Suspect | null;
  spark: number[];
  drift: Drift | null;
}

export type Verdict = "better" | "worse" | "same" | "unclear";

export type State = "suspected" | "open" | "acknowledged" | "resolved" | "ignored";

export interface Estimate {
  point: number;
  low: number | null;
  high: number | null;
  confidence: number;
  method: string;
}

export interface Suspect {
  revision: string;
  probability: number;
  subject: string;
  author: string;
  effect: Estimate | null;
}

export interface Drift {
  first: string;
  last: string;
  ongoing: boolean;
  length: number;
  slope: Estimate;
  earliest: string;
  latest: string;
  steps: number;
  parts: Part[];
}

export interface Part {
  effect: Estimate;
  runs: string[];
  revisions: string[];
  commits: number;
}

export interface Page {
  next: string;
}

export interface CaseLine {
  case: string;
  params: { [name: string]: Scalar };
  label: string;
  runtime: string;
  device: string;
  statuses: { [name: string]: number };
  metrics: Metric[];
  results: string[];
  warnings: ResultWarning[];
  reason: string;
  failures: Failure[];
}

export interface Metric {
  name: string;
  unit: string;
  better: Better | null;
  estimate: Estimate;
  count: number;
  values: number[];
  least: number | null;
  most: number | null;
}

export type Better = "lower" | "higher";

export interface ResultWarning {
  code: string;
  seen: string;
  remedy: string;
}

export interface Failure {
  kind: string;
  message: string;
  remedy: string;
  log_tail: string;
}

export interface About {
  version: string;
  store: string;
  who: string;
  scopes: string[];
  static: boolean;
  generated_at: number;
}

export interface Mark {
  at: number;
  finding: string;
  verdict: Verdict;
  state: State;
  effect: Estimate;
  before: Estimate;
  after: Estimate;
  run: string;
  until: number;
}

export interface Note {
  id: number;
  at: number;
  text: string;
  who: string;
  everywhere: boolean;
}

export interface RunsPage {
  next: string;
  runs: RunLine[];
}

export interface SeriesPage {
  next: string;
  series: SeriesLine[];
  cases: string[];
  metrics: string[];
  machines: { [name: string]: string };
}

export interface FindingsPage {
  next: string;
  findings: FindingLine[];
  counts: { [name: string]: number };
}

export interface Failing {
  case: string;
  machine: string;
  machine_name: string;
  run: string;
  status: Status;
  count: number;
  at: number;
  reason: string;
}

export type Status = "ok" | "failed" | "timeout" | "killed" | "skipped" | "refused";

export interface SuiteLine {
  suite: string;
  machine: string;
  machine_name: string;
  series: number;
  worse: number;
  better: number;
  failing: number;
  last_at: number;
  sparks: SeriesLine[];
}

export interface Overview {
  runs: RunLine[];
  worse: FindingLine[];
  better: FindingLine[];
  failing: Failing[];
  suites: SuiteLine[];
  counts: { [name: string]: number };
}

export interface SeriesView {
  line: SeriesLine;
  at: number[];
  point: number[];
  low: (number | null)[];
  high: (number | null)[];
  run: number[];
  revision: number[];
  result: number[];
  runs: string[];
  revisions: string[];
  subjects: { [name: string]: string };
  marks: Mark[];
  notes: Note[];
  related: SeriesLine[];
}

export interface Side {
  given: string;
  label: string;
  runs: string[];
  at: number;
  revision: string;
}

export interface ComparedLine {
  case: string;
  params: { [name: string]: Scalar };
  metric: string;
  unit: string;
  better: string;
  before: Estimate | null;
  after: Estimate | null;
  ratio: Estimate | null;
  verdict: Verdict;
  sentence: string;
  before_result: string;
  after_result: string;
  series: string[];
  machine: string;
}

export interface Difference {
  what: string;
  before: Value;
  after: Value;
}

export interface Comparison {
  a: Side;
  b: Side;
  lines: ComparedLine[];
  differences: Difference[];
  metrics: string[];
  counts: { [name: string]: number };
  notes: string[];
}

export interface Cell {
  row: number;
  column: number;
  estimate: Estimate;
  relative: number | null;
  series: string;
  result: string;
  run: string;
}

export interface Missing {
  row: number;
  column: number;
  status: Status;
  reason: string;
  run: string;
  result: string;
}

export interface Matrix {
  metric: string;
  unit: string;
  better: string;
  rows: string[];
  columns: string[];
  cells: Cell[];
  baseline: string;
  metrics: string[];
  dimensions: string[];
  row_dimension: string;
  column_dimension: string;
  chosen: { [name: string]: string };
  choices: { [name: string]: string[] };
  missing: Missing[];
}

export interface ObjectiveLine {
  objective: string;
  met: boolean;
  verdict: string;
}

export interface RunView {
  line: RunLine;
  harness: string;
  command: string[];
  reason: string;
  baseline: string;
  previous: string;
  cases: CaseLine[];
  machines: { [name: string]: string };
  objectives: ObjectiveLine[];
  rates: string[];
}

export interface Distribution {
  column: string;
  unit: string;
  count: number;
  edges: number[];
  counts: number[];
  quantiles: ([number, number])[];
  over_time: ([number, number])[];
}

export interface ResultView {
  id: string;
  run: string;
  case: string;
  params: { [name: string]: Scalar };
  runtime: string;
  device: string;
  precision: string;
  uri: string;
  load: { [name: string]: Value };
  inputs: { [name: string]: Value };
  round: number;
  status: Status;
  started_at: number;
  duration: number;
  revision: Revision | null;
  metrics: Metric[];
  series: { [name: string]: string };
  distributions: Distribution[];
  note: string;
  timelines: Timeline[];
  operators: Operator[];
  warnings: ResultWarning[];
  error: Failure | null;
  log_tail: string;
  artifacts: Artifact[];
  details: { [name: string]: Value };
  instrument: { [name: string]: Value };
  environment: { [name: string]: Value };
  command: string[];
  rounds: string[];
}

export interface Timeline {
  name: string;
  unit: string;
  seconds: number[];
  values: number[];
}

export interface Operator {
  name: string;
  kind: string;
  seconds: number;
  share: number;
  calls: number;
  shapes: string;
}

export interface Artifact {
  name: string;
  kind: string;
  path: string;
  size: number;
  sha256: string;
}

export interface FindingView {
  line: FindingLine;
  method: string;
  revisions: string[];
  runs: string[];
  suspects: Suspect[];
  why: { [name: string]: Value };
  remarks: Remark[];
  commands: string[];
  view: SeriesView | null;
  calibration: string;
}

export interface Remark {
  at: string;
  who: string;
  what: string;
  text: string;
}

export interface Noise {
  at: number[];
  spread: number[];
  runs: string[];
}

export interface MachineLine {
  key: string;
  name: string;
  facts: { [name: string]: Value };
  results: number;
  failed: number;
  cases: number;
  first_at: number;
  last_at: number;
  noise: Noise;
  calibration: { [name: string]: string };
}

export interface MachinesPage {
  machines: MachineLine[];
}

export interface LiveRun {
  run: string;
  started_at: number;
  spoke_at: number;
  planned: number;
  done: number;
  failed: number;
  case: string;
  params: { [name: string]: string };
  round: number;
  phase: string;
  host: string;
  results: CaseLine[];
}

export interface Live {
  runs: LiveRun[];
  newest: number;
}
