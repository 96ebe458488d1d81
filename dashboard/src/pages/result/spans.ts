// The parts of a request's bar in a waterfall, and a request in words.

import { value } from "../../parts/format";
import type { RequestLine } from "../../shapes";

export type PartKind = "wait" | "server" | "prefill" | "tokens";

export interface Part {
  kind: PartKind;
  from: number;
  to: number;
}

export const PARTS: readonly (readonly [PartKind, string])[] = [
  ["wait", "waiting to be sent"],
  ["server", "until the first byte"],
  ["prefill", "until the first token"],
  ["tokens", "tokens"],
];

/** What never came ends where the request did: a refused one is a wait for the server to its end. */
export function partsOf({ scheduled, sent, first_byte, first_text, end }: RequestLine): Part[] {
  const byte = first_byte ?? end;
  const text = first_text ?? end;
  const parts: Part[] = [
    { kind: "wait", from: scheduled, to: sent },
    { kind: "server", from: sent, to: byte },
    { kind: "prefill", from: byte, to: text },
    { kind: "tokens", from: text, to: end },
  ];
  return parts.filter(({ from, to }) => to > from);
}

/** From the first scheduled instant to the last end. */
export function extent(requests: readonly RequestLine[]): [number, number] {
  return [Math.min(...requests.map((one) => one.scheduled)), Math.max(...requests.map((one) => one.end))];
}

/** Times the longest request: farther apart, bars on a common axis have no length, and each begins at zero. */
const SCATTERED = 8;

/** The instant that each request's bar is drawn from: its own, where requests lie far apart, else the clock's start. */
export function zerosOf(requests: readonly RequestLine[]): number[] {
  const [low, high] = extent(requests);
  const longest = Math.max(...requests.map(({ scheduled, end }) => end - scheduled));
  return requests.map(({ scheduled }) => (high - low > SCATTERED * longest ? scheduled : 0));
}

/** The request with its instants since another one. */
export function shift(request: RequestLine, zero: number): RequestLine {
  const { scheduled, sent, first_byte, first_text, end, ticks } = request;
  return {
    ...request,
    scheduled: scheduled - zero,
    sent: sent - zero,
    first_byte: first_byte === null ? null : first_byte - zero,
    first_text: first_text === null ? null : first_text - zero,
    end: end - zero,
    ticks: ticks.map((at) => at - zero),
  };
}

export function tell(request: RequestLine): string {
  const { number, copy, outcome, scheduled, sent, first_byte, first_text, end, output_tokens } = request;
  const seconds = (at: number) => value(at, "s");
  const said = [`Request ${number + 1}${copy ? ` of copy ${copy + 1}` : ""}`];
  if (outcome) said.push(`failed: ${outcome.replaceAll("_", " ")}`);
  said.push(`scheduled at ${seconds(scheduled)}, sent ${seconds(sent - scheduled)} later`);
  if (first_byte !== null) said.push(`first byte after ${seconds(first_byte - sent)}`);
  if (first_text !== null) said.push(`first token after ${seconds(first_text - sent)}`);
  said.push(`end after ${seconds(end - sent)}`);
  if (output_tokens !== null) said.push(`${output_tokens} tokens`);
  return said.join(", ");
}

/** The place in `at`, which ascends, that is nearest to a value; -1 where it is empty. */
export function nearest(at: readonly number[], wanted: number): number {
  let [low, high] = [0, at.length - 1];
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low > 0 && wanted - at[low - 1]! <= at[low]! - wanted ? low - 1 : low;
}
