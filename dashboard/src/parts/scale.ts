// Where a value lies on an axis, and which round values to write there.

export interface Scale {
  low: number;
  high: number;
  log: boolean;
  /** From a value to its place between 0 and 1; what lies outside is not cut off. */
  place(value: number): number;
  /** From a place back to the value. */
  value(place: number): number;
  ticks: number[];
}

/** A scale from `low` to `high` with about `count` ticks; logarithmic only where both are above zero. */
export function scale(low: number, high: number, { log = false, count = 5 } = {}): Scale {
  const [from, to] = high > low ? [low, high] : [low - Math.abs(low || 1) / 20, low + Math.abs(low || 1) / 20];
  if (log && from > 0) {
    const [a, b] = [Math.log(from), Math.log(to)];
    return {
      low: from,
      high: to,
      log: true,
      place: (value) => (value > 0 ? (Math.log(value) - a) / (b - a) : -1),
      value: (place) => Math.exp(a + place * (b - a)),
      ticks: logTicks(from, to, count),
    };
  }
  return {
    low: from,
    high: to,
    log: false,
    place: (value) => (value - from) / (to - from),
    value: (place) => from + place * (to - from),
    ticks: linearTicks(from, to, count),
  };
}

function linearTicks(low: number, high: number, count: number): number[] {
  const step = roundStep((high - low) / count);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i++) ticks.push(i * step || 0); // not -0
  return ticks;
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/** Powers of ten, with 2 and 5 between them where there is room; plain steps where less than a decade is shown. */
export function logTicks(low: number, high: number, count: number): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks(low, high, count);
  const factors = decades <= count / 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every)
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  return ticks;
}

/** Words of a tick without zeros that say nothing: "10.0 ms" is "10 ms". */
export function plain(text: string): string {
  return text.replace(/(\d)\.0+(?!\d)|(\.\d*[1-9])0+(?!\d)/, "$1$2");
}
