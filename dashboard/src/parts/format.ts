// How numbers, instants and names are written, the same as the command line writes them.
//   value(0.0183, "s") "18.3 ms" · estimate(e, "s") "18.3 ms" · interval(e, "s") "[18.1, 18.6]" · change(1.12, "s") "12 % slower"
//   date(ms) "2026-11-16 07:06" · day(ms) "2026-11-16" · ago(ms) "3 hours ago" · duration(75) "1 min 15 s"
//   count(3, "run") "3 runs" · whole(12345) "12,345" · probability(1) "99.99 %" · percent(0.0123) "1.2 %" · signed(-0.03) "−3 %"
//   caseLabel(case, params) · paramsText(params) · revisionShort(id)

import type { Estimate, Scalar } from "../shapes";

type Scale = readonly [factor: number, label: string];

// units are users' words: a map has no names of its own
// biome-ignore format: a line for each unit is a table
const SCALES: ReadonlyMap<string, readonly Scale[]> = new Map([
  ["s", [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]],
  ["B", [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]],
  ["/s", [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]]],
  ["J", [[1, "J"], [1e-3, "mJ"], [1e-6, "µJ"]]],
  ["W", [[1e3, "kW"], [1, "W"], [1e-3, "mW"]]],
]);
// above one, below one, "times as ..."
const WORDS: ReadonlyMap<string, readonly [string, string, string]> = new Map([
  ["s", ["slower", "faster", "long"]],
  ["B", ["more", "less", "much"]],
]);
const OTHER = ["higher", "lower", "high"] as const;
export const POINTS = "points"; // of a share of failures
const A_HAIR = 1 + 1e-9; // 1,000 times 1e-9 may be less than 1e-6
const FURTHER = 40; // digits, to tell a half from what lies beside it
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The factor and the label that show `of` with one to three digits before the point. */
export function scaleFor(of: number, unit: string): Scale {
  const scales = SCALES.get(unit);
  if (!scales) return [1, unit === "1" ? "" : unit];
  const size = Math.abs(of);
  return (
    scales.find(([factor]) => size >= factor) ??
    (size > 0 ? scales.at(-1)! : scales.find(([, label]) => label === unit)!)
  );
}

/** A number with so many significant digits, and no exponent for everyday sizes. */
export function number(of: number | null | undefined, digits = 3): string {
  if (of === null || of === undefined || !Number.isFinite(of)) return "–";
  if (of === 0) return "0";
  const written = of.toExponential(digits - 1);
  const magnitude = Number(written.slice(written.indexOf("e") + 1)); // of the rounded number: 0.9996 becomes 1.00
  if (magnitude < -6) return written.replace(/-(?=\d$)/, "-0"); // two digits, as in Python
  const decimals = Math.min(12, Math.max(0, digits - 1 - magnitude));
  return rounded(of, decimals);
}

/** A value for people: value(1.83e-5, "s") is "18.3 µs"; bytes are whole below 1 KiB. */
export function value(of: number | null | undefined, unit: string, digits = 3): string {
  if (of === null || of === undefined || !Number.isFinite(of)) return "–";
  const scale = roundedScale(of, unit, digits);
  return labelled(scaled(of, scale, digits), scale[1]);
}

/** The point of an estimate. */
export function estimate(of: Estimate | null | undefined, unit: string, digits = 3): string {
  return of ? value(of.point, unit, digits) : "–";
}

/** Its interval on the scale of its point, or "" where there is none: "[18.1, 18.6]". */
export function interval(
  of: Pick<Estimate, "point" | "low" | "high"> | null | undefined,
  unit: string,
  digits = 3,
): string {
  if (!of || of.low === null || of.high === null) return "";
  if (!of.point) return `[${value(of.low, unit, digits)}, ${value(of.high, unit, digits)}]`; // it has no scale
  const scale = roundedScale(of.point, unit, digits);
  return `[${scaled(of.low, scale, digits)}, ${scaled(of.high, scale, digits)}]`;
}

/** In which unit a change of a metric is told: of the share of requests that failed in points, for zero has no ratio. */
export function changeUnit({ metric, unit }: { metric: string; unit: string }): string {
  return metric === "errors" && unit === "%" ? POINTS : unit;
}

/** What a ratio means: "12 % slower", "2.4 times as long"; of points, one plus a difference: "5 points more". */
export function change(ratio: number, unit: string): string {
  const [above, below, times] = WORDS.get(unit) ?? OTHER;
  if (!Number.isFinite(ratio)) return "–";
  if (unit === POINTS) return `${points(Math.abs(ratio - 1))} points ${ratio >= 1 ? "more" : "less"}`;
  if (ratio >= 2) return `${number(ratio)} times as ${times}`;
  return `${percent(Math.abs(ratio - 1))} ${ratio >= 1 ? above : below}`;
}

/** The interval of an effect in per cent: "[+9.8 %, +14 %]", or in points: "[+4.1, +5.9]"; "" where there is none. */
export function changeInterval(effect: Estimate, unit = ""): string {
  if (effect.low === null || effect.high === null) return "";
  return `[${changeEnd(effect.low, unit)}, ${changeEnd(effect.high, unit)}]`;
}

/** An end of the interval of an effect, with its sign: "+9.8 %", or in points: "+4.1". */
export function changeEnd(ratio: number, unit: string): string {
  const part = ratio - 1;
  return unit === POINTS ? `${part < 0 ? "−" : "+"}${points(Math.abs(part))}` : signed(part);
}

function points(part: number): string {
  return trimmed(100 * part, part < 0.0995 ? 2 : 3);
}

/** A share with its sign: "+12 %", "−3.1 %". */
export function signed(part: number): string {
  return `${part < 0 ? "−" : "+"}${percent(Math.abs(part))}`;
}

/** A share in per cent, with two digits where it is small. */
export function percent(part: number): string {
  const shown = 100 * part;
  if (shown === 0) return "0 %";
  return part < 0.0995 ? `${trimmed(shown, 2)} %` : `${trimmed(shown, 3)} %`;
}

/** A probability in per cent, never rounded to certainty: "87.3 %", "99.99 %", "below 0.1 %". */
export function probability(of: number): string {
  if (of < 0.001) return "below 0.1 %";
  const shown = Math.min(100 * of, 99.99);
  return shown < 99.5 ? `${trimmed(shown, 3)} %` : `${trimmed(Math.floor(100 * shown + 1e-9) / 100, 4)} %`;
}

/** How many of something: count(1, "run") is "1 run". Names that do not take an s give the plural too. */
export function count(of: number, one: string, many = `${one}s`): string {
  return `${whole(of)} ${of === 1 ? one : many}`;
}

/** A whole number: 12345 is "12,345". */
export function whole(of: number): string {
  return of.toLocaleString("en-US");
}

// ---- time ----

/** Day and minute, where the reader is: "2026-11-16 07:06". */
export function date(ms: number): string {
  if (!ms) return "–";
  const at = new Date(ms);
  return `${day(ms)} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export function day(ms: number): string {
  if (!ms) return "–";
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** How long ago: "just now", "3 hours ago"; a day when that is more than a month. */
export function ago(ms: number, now = Date.now()): string {
  if (!ms) return "–";
  const past = now - ms;
  if (past < MINUTE) return past > -MINUTE ? "just now" : date(ms);
  if (past < HOUR) return `${count(Math.floor(past / MINUTE), "minute")} ago`;
  if (past < DAY) return `${count(Math.floor(past / HOUR), "hour")} ago`;
  if (past < 31 * DAY) return `${count(Math.floor(past / DAY), "day")} ago`;
  return day(ms);
}

/** A stretch of time in two units: "1 min 15 s". */
export function duration(seconds: number): string {
  if (seconds < 60) return value(seconds, "s");
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

// ---- names ----

/** "batch_size=8 runtime=torch" */
export function paramsText(params: { [name: string]: Scalar }): string {
  return Object.entries(params)
    .map(([name, given]) => `${name}=${String(given)}`)
    .join(" ");
}

/** A case with its params in one line. */
export function caseLabel(name: string, params: { [name: string]: Scalar } = {}): string {
  const text = paramsText(params);
  return text ? `${name} ${text}` : name;
}

/** A commit as people quote it. */
export function revisionShort(id: string): string {
  return id.slice(0, 10);
}

/** The value with its unit as the command line joins them: no space before % and rates. */
export function labelled(text: string, label: string): string {
  if (!label || label === "1") return text;
  return label === "%" || label.startsWith("/") ? `${text}${label}` : `${text} ${label}`;
}

/** The scale of what is left after rounding: 999.6 µs are 1.00 ms. */
function roundedScale(of: number, unit: string, digits: number): Scale {
  const scale = scaleFor(of, unit);
  const rounded = scaleFor(read(scaled(of, scale, digits)) * scale[0] * A_HAIR, unit);
  return rounded[0] > scale[0] ? rounded : scale;
}

/** A share of a byte keeps its digits, bytes have no decimals. */
function scaled(of: number, [factor, label]: Scale, digits: number): string {
  const text = number(of / factor, digits);
  return label === "B" && Math.abs(read(text)) >= 1 ? rounded(of / factor, 0) : text;
}

/** As Python rounds: the number as it is kept, not as it is written (9.995 is a little less), and half to the even digit. */
function rounded(of: number, decimals: number): string {
  if (Math.abs(of) >= 1e21) return whole(of); // `toFixed` ends there
  const exact = of.toFixed(decimals + FURTHER);
  const half = /^50*$/.test(exact.slice(-FURTHER));
  const down = exact.slice(0, -FURTHER).replace(/\.$/, "");
  const [front = "", back] = (half && /[02468]$/.test(down) ? down : of.toFixed(decimals)).split(".");
  const grouped = front.replace(/\B(?=(\d{3})+$)/g, ",");
  return back ? `${grouped}.${back}` : grouped;
}

function read(text: string): number {
  return Number(text.replaceAll(",", ""));
}

function trimmed(of: number, digits: number): string {
  return Number(of.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** Two digits, as clocks and days have them. */
export function two(of: number): string {
  return String(of).padStart(2, "0");
}
