// Generated from shapes.py, compared_shapes.py, list_shapes.py and parts.py of benchwright.pages by `make types`.

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
  case_count: number;
  held: number;
  is_race: boolean;
}

export interface Revision {
  vcs: string;
  id: string;
  branch: string;
  dirty: boolean;
  committed_at: string;
  subject: string;
  author: string;
  tags: string[];
  repository: string;
  pull_request: number;
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
  cause: string;
  revisions: string[];
  repository: string;
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
  pull_request: number;
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

export interface CauseLine {
  id: string;
  lead: FindingLine;
  culprit: Suspect | null;
  findings: number;
  series: number;
  cases: number;
  worse: number;
  better: number;
  largest: number;
  median: number;
  metrics: string[];
  machines: { [name: string]: string };
  suites: string[];
  state: State;
  states: { [name: string]: number };
  assignees: string[];
  found_at: number;
  newest_at: number;
}

export interface Linked {
  code: { [name: string]: CodeLinks };
}

export interface CodeLinks {
  forge: string;
  web: string;
  commit: string;
  compare: string;
  request: string;
  author: string;
  issue: string;
  request_word: string;
  hash_is_request: boolean;
}

export interface Page {
  code: { [name: string]: CodeLinks };
  next: string;
}

export interface CauseView {
  code: { [name: string]: CodeLinks };
  next: string;
  line: CauseLine;
  findings: FindingLine[];
  remarks: Remark[];
  commands: string[];
}

export interface Remark {
  at: string;
  who: string;
  what: string;
  text: string;
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
  machine: string;
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

export interface MachineCell {
  estimate: Estimate | null;
  status: string;
  result: string;
}

export interface MachineCase {
  label: string;
  metric: string;
  unit: string;
  cells: (MachineCell | null)[];
}

export interface MachineTable {
  machines: ([string, string])[];
  cases: MachineCase[];
  total: number;
}

export interface LeaseLine {
  machine: string;
  instance: string;
  zone: string;
  seconds: number;
  cost: number | null;
  currency: string;
}

export interface WarnedCases {
  warning: ResultWarning;
  cases: string[];
  count: number;
}

export interface FailedCase {
  label: string;
  result: string;
  failure: Failure;
}

export interface About {
  version: string;
  store: string;
  who: string;
  scopes: string[];
  static: boolean;
  generated_at: number;
  home: string;
  person: boolean;
  sign_in: string;
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
  release: boolean;
}

export interface Judging {
  until: string;
  waiting: number;
  since: number;
  older: number;
  failing: string;
  failing_since: number;
  troubles: number;
  trouble: string;
}

export interface QuarantineLine {
  since: number;
  until: number | null;
  reason: string;
  who: string;
  made_at: string;
  released_by: string;
  finding: string;
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
  trouble: string;
  quarantine: QuarantineLine | null;
}

export interface MachinesPage {
  machines: MachineLine[];
}

export interface HealthLine {
  name: string;
  title: string;
  at: number[];
  values: number[];
  limits: (number | null)[];
  runs: string[];
}

export interface ControlLine {
  name: string;
  series: string;
  python: string;
  version: number;
  usual: number;
  at: number[];
  values: number[];
  runs: string[];
}

export interface MachineView {
  line: MachineLine;
  health: HealthLine[];
  quarantines: QuarantineLine[];
  control: ControlLine[];
}

export interface MachineNotice {
  key: string;
  name: string;
  trouble: string;
  quarantine: QuarantineLine | null;
}

export interface MachineNotices {
  notices: MachineNotice[];
}

export interface IssueDraft {
  title: string;
  text: string;
  form: string;
  shortened: boolean;
  can_send: boolean;
  opened: string;
  request: number;
  commented: string;
}

export interface FacetValue {
  value: string;
  label: string;
  count: number;
}

export interface Facet {
  name: string;
  values: FacetValue[];
  more: number;
}

export interface RunsPage {
  code: { [name: string]: CodeLinks };
  next: string;
  runs: RunLine[];
  facets: Facet[];
  total: number;
}

export interface SeriesPage {
  code: { [name: string]: CodeLinks };
  next: string;
  series: SeriesLine[];
  cases: string[];
  metrics: string[];
  machines: { [name: string]: string };
  facets: Facet[];
  total: number;
  sortable: boolean;
}

export interface FindingsPage {
  code: { [name: string]: CodeLinks };
  next: string;
  findings: FindingLine[];
  counts: { [name: string]: number };
  total: number;
  facets: Facet[];
}

export interface CausesPage {
  code: { [name: string]: CodeLinks };
  next: string;
  causes: CauseLine[];
  total: number;
  findings: number;
  counts: { [name: string]: number };
  facets: Facet[];
}

export interface ViewLine {
  id: number;
  name: string;
  address: string;
  who: string;
  made_at: number;
  is_home: boolean;
}

export interface ViewsPage {
  views: ViewLine[];
}

export interface Release {
  name: string;
  at: number;
  revision: string;
}

export interface PriceMark {
  at: number;
  run: string;
  price: string;
  factor: number | null;
}

export interface SeriesView {
  code: { [name: string]: CodeLinks };
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
  rounds: number[];
  branch: number[];
  branches: string[];
  main: string;
  committed: number[];
  releases: Release[];
  quarantines: QuarantineLine[];
  repository: number[];
  repositories: string[];
  prices: PriceMark[];
}

export interface MuteLine {
  what: string;
  who: string;
  at: number;
  reason: string;
}

export interface ThresholdLine {
  case: string;
  metric: string;
  smallest: number;
}

export interface RulesPage {
  mutes: MuteLine[];
  thresholds: ThresholdLine[];
  usual: number;
  cases: string[];
  metrics: string[];
}

export interface TargetLine {
  id: number;
  address: string;
  verdicts: string[];
  cases: string;
  smallest: number;
  who: string;
  made_at: number;
  preview: RulePreview;
  identity: string;
}

export interface RulePreview {
  days: number;
  of: number;
  matching: number;
  told: number;
  times: number;
  is_complete: boolean;
  sentence: string;
  findings: PreviewedFinding[];
}

export interface PreviewedFinding {
  id: string;
  case: string;
  metric: string;
  unit: string;
  verdict: Verdict;
  ratio: number;
  found_at: string;
}

export interface TargetsPage {
  targets: TargetLine[];
  prefix: string;
}

export interface TokenLine {
  name: string;
  scope: string;
  made_at: number;
  expires_at: number;
  used_at: number;
}

export interface TokensPage {
  tokens: TokenLine[];
}

export interface PersonLine {
  name: string;
  who: string;
  role: string;
  groups: string[];
  made_at: number;
  seen_at: number;
  ends_at: number;
  is_you: boolean;
}

export interface PeoplePage {
  people: PersonLine[];
  sign_in: string;
}

export interface AuditLine {
  id: number;
  at: number;
  who: string;
  address: string;
  action: string;
  what: string;
}

export interface AuditPage {
  lines: AuditLine[];
  next: string;
}

export interface LabJobLine {
  id: string;
  run: string;
  case: string;
  state: string;
  who: string;
  selector: string;
  priority: number;
  submitted_at: number;
  machine: string;
  attempt: number;
  leased_at: number;
  ended_at: number;
  phase: string;
  position: number;
  wait: number | null;
  reason: string;
}

export interface LabMachineLine {
  name: string;
  agent: string;
  kind: string;
  state: string;
  facts: { [name: string]: string };
  labels: { [name: string]: string };
  seen_at: number;
  reason: string;
  who: string;
  until: number | null;
  reserved_for: string;
  reserved_until: number | null;
  health: string;
  key: string;
  version: string;
  job: LabJobLine | null;
}

export interface LabPage {
  machines: LabMachineLine[];
  queue: LabJobLine[];
  queued: number;
  why: string;
}

export interface LabSubmissionView {
  run: string;
  who: string;
  submitted_at: number;
  where: string;
  selector: string;
  priority: number;
  state: string;
  jobs: LabJobLine[];
}

export interface Side {
  given: string;
  label: string;
  runs: string[];
  at: number;
  revision: string;
  repository: string;
}

export interface ComparedColumn {
  after: Estimate | null;
  ratio: Estimate | null;
  verdict: Verdict;
  sentence: string;
  result: string;
  series: string;
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
  suite: string;
  others: ComparedColumn[];
}

export interface Difference {
  what: string;
  before: Value;
  after: Value;
  others: Value[];
}

export interface MeanColumn {
  ratio: Estimate | null;
  cases: number;
  left_out: number;
  counts: { [name: string]: number };
}

export interface MeanRatio {
  suite: string;
  metric: string;
  better: string;
  columns: MeanColumn[];
}

export interface Comparison {
  code: { [name: string]: CodeLinks };
  next: string;
  a: Side;
  b: Side;
  lines: ComparedLine[];
  differences: Difference[];
  metrics: string[];
  counts: { [name: string]: number };
  notes: string[];
  across: string[];
  params: string[];
  others: Side[];
  other_counts: ({ [name: string]: number })[];
  means: MeanRatio[];
  total: number;
  changed: number;
  found: number;
  fitting: number;
  judged: string[];
  control: string;
}

export interface Cell {
  row: number;
  column: number;
  estimate: Estimate;
  relative: number | null;
  series: string;
  result: string;
  run: string;
  standing: string;
  is_held: boolean;
  price: string;
}

export interface Missing {
  row: number;
  column: number;
  status: Status;
  reason: string;
  run: string;
  result: string;
}

export type Status = "ok" | "failed" | "timeout" | "killed" | "skipped" | "refused";

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
  row_count: number;
  column_count: number;
  next: string;
}

export interface ParetoPoint {
  label: string;
  case: string;
  params: { [name: string]: Scalar };
  machine: string;
  x: Estimate;
  y: Estimate;
  standing: string;
  beaten_by: number | null;
  series: string[];
  result: string;
  run: string;
  is_held: boolean;
  price: string;
}

export interface Pareto {
  x: string;
  y: string;
  x_unit: string;
  y_unit: string;
  x_better: string;
  y_better: string;
  points: ParetoPoint[];
  metrics: string[];
  chosen: { [name: string]: string };
  choices: { [name: string]: string[] };
  left_out: number;
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
  code: { [name: string]: CodeLinks };
  runs: RunLine[];
  causes: CauseLine[];
  worse: FindingLine[];
  better: FindingLine[];
  failing: Failing[];
  suites: SuiteLine[];
  counts: { [name: string]: number };
  judging: Judging;
}

export interface AdviceLine {
  aim: string;
  text: string;
  case: string;
  rivals: string[];
}

export interface ObjectiveLine {
  objective: string;
  met: boolean;
  verdict: string;
}

export interface RunView {
  code: { [name: string]: CodeLinks };
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
  training: string[];
  quarantines: { [name: string]: QuarantineLine };
  advice: AdviceLine[];
  cautions: string[];
  next: string;
  case_count: number;
  found: number;
  metrics: string[];
  warned: WarnedCases[];
  failing: FailedCase[];
  by_machine: MachineTable | null;
  prices: string[];
  leases: LeaseLine[];
  instances: string[];
  speedups: SpeedUpLine[];
  sweeps: SweepLine[];
  requests: string[];
  race: RaceView | null;
}

export interface SpeedUpLine {
  label: string;
  kind: string;
  metric: string;
  unit: string;
  base: number;
  title: string;
  points: SpeedUpMark[];
  advice: string[];
  cautions: string[];
}

export interface SpeedUpMark {
  processes: number;
  result: string;
  value: Estimate;
  speedup: Estimate | null;
  efficiency: Estimate | null;
  communication: Estimate | null;
}

export interface SweepLine {
  label: string;
  kind: string;
  points: SweepMark[];
  knee: number;
  text: string;
}

export interface SweepMark {
  load: number;
  words: string;
  case: string;
  result: string;
  throughput: Estimate;
  latency: Estimate;
  goodput: Estimate | null;
}

export interface RaceView {
  question: string;
  effort: string;
  surety: string;
  no_winner: string[];
  unsettled: string;
  winner: number | null;
  front: number[];
  alike: number[];
  axes: string[];
  metrics: RaceMetric[];
  blocks: number;
  cells: RaceCellLine[];
  unmeasured: string[];
}

export interface RaceMetric {
  name: string;
  title: string;
  unit: string;
  better: Better | null;
  is_goal: boolean;
}

export interface RaceCellLine {
  number: number;
  label: string;
  brief: string;
  settings: { [name: string]: string };
  state: string;
  reason: string;
  why: string;
  processes: number;
  first: number;
  last: number;
  values: { [name: string]: Estimate };
  breaches: RaceBreach[];
  command: string[];
  result: string;
}

export interface RaceBreach {
  objective: string;
  is_sure: boolean;
}

export interface Distribution {
  column: string;
  unit: string;
  count: number;
  edges: number[];
  counts: number[];
  quantiles: ([number, number])[];
  over_time: ([number, number])[];
  of: string;
}

export interface ValueBand {
  name: string;
  rounds: number;
  seconds: number[];
  low: number[];
  middle: number[];
  high: number[];
}

export interface ResultView {
  code: { [name: string]: CodeLinks };
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
  quarantine: QuarantineLine | null;
  distributed: number;
  requests: RequestsView | null;
  bands: ValueBand[];
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

export interface RequestsView {
  made: number;
  failures: FailureKind[];
  slowest: RequestLine[];
  failed_at: ([number, number, string])[];
}

export interface FailureKind {
  kind: string;
  words: string;
  count: number;
  first: string;
}

export interface RequestLine {
  copy: number;
  number: number;
  scheduled: number;
  sent: number;
  first_byte: number | null;
  first_text: number | null;
  end: number;
  ticks: number[];
  outcome: string;
  output_tokens: number | null;
}

export interface FindingView {
  code: { [name: string]: CodeLinks };
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
  siblings: number;
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
