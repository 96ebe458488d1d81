import { describe, expect, it } from "vitest";
import { extent, nearest, partsOf, shift, tell, zerosOf } from "../src/pages/result/spans";
import { axisOf, closest, goodputs } from "../src/pages/runs/sweeppoints";
import type { Estimate, RequestLine, SweepLine, SweepMark } from "../src/shapes";

const request: RequestLine = {
  copy: 0,
  number: 4,
  scheduled: 1,
  sent: 1.01,
  first_byte: 1.1,
  first_text: 1.2,
  end: 1.5,
  ticks: [1.2, 1.3, 1.4],
  outcome: "",
  output_tokens: 3,
};

describe("a request of a waterfall", () => {
  it("is cut into what it waited for", () => {
    expect(partsOf(request)).toEqual([
      { kind: "wait", from: 1, to: 1.01 },
      { kind: "server", from: 1.01, to: 1.1 },
      { kind: "prefill", from: 1.1, to: 1.2 },
      { kind: "tokens", from: 1.2, to: 1.5 },
    ]);
  });

  it("that got nothing waited for the server to its end", () => {
    const refused = { ...request, first_byte: null, first_text: null, sent: 1 };
    expect(partsOf(refused)).toEqual([{ kind: "server", from: 1, to: 1.5 }]);
  });

  it("is told in words, a failure by its class", () => {
    expect(tell(request)).toBe(
      "Request 5, scheduled at 1.00 s, sent 10.0 ms later, first byte after 90.0 ms, first token after 190 ms, " +
        "end after 490 ms, 3 tokens",
    );
    expect(tell({ ...request, copy: 1, outcome: "stream_error" })).toContain("of copy 2, failed: stream error");
  });

  it("lies within the extent of all", () => {
    expect(extent([request, { ...request, scheduled: 0.5, end: 0.6 }])).toEqual([0.5, 1.5]);
  });

  it("begins at its own instant where others are far away", () => {
    const later = (seconds: number) => shift(request, -seconds);
    expect(zerosOf([request, later(2)])).toEqual([0, 0]);
    expect(zerosOf([request, later(60)])).toEqual([1, 61]);
    expect(extent([request, later(64)].map((one) => shift(one, one.scheduled)))).toEqual([0, 0.5]);
    expect(shift({ ...request, first_byte: null }, 1).first_byte).toBeNull();
  });
});

describe("the nearest instant", () => {
  it("is found from both sides", () => {
    const at = [0, 1, 2, 4];
    expect([-1, 0.4, 0.6, 2.9, 3.1, 9].map((one) => nearest(at, one))).toEqual([0, 0, 1, 2, 3, 3]);
    expect(nearest([], 1)).toBe(-1);
  });
});

function known(point: number, spread = 0.1): Estimate {
  return { point, low: point * (1 - spread), high: point * (1 + spread), confidence: 0.95, method: "" };
}

function mark(load: number, throughput: number, latency: number, goodput: number | null): SweepMark {
  const words = `${load}/s`;
  return {
    load,
    words,
    case: words,
    result: "r",
    throughput: known(throughput),
    latency: known(latency),
    goodput: goodput === null ? null : known(goodput),
  };
}

describe("a sweep", () => {
  const sweep: SweepLine = {
    label: "",
    kind: "rate",
    points: [mark(10, 10, 0.1, 10), mark(20, 20, 0.12, 19), mark(40, 25, 1.5, 2)],
    knee: 1,
    text: "",
  };

  it("has the rates of success and of kept objectives", () => {
    const [all, good] = goodputs(sweep)!;
    expect(all!.values.map(([load, one]) => [load, one.point])).toEqual([
      [10, 10],
      [20, 20],
      [40, 25],
    ]);
    expect(good!.values.map(([, one]) => one.point)).toEqual([10, 19, 2]);
  });

  it("of users, or without objectives, has none", () => {
    expect(goodputs({ ...sweep, kind: "users" })).toBeNull();
    expect(goodputs({ ...sweep, points: sweep.points.map((point) => ({ ...point, goodput: null })) })).toBeNull();
  });

  it("is drawn with its intervals inside, by logarithms where it spans much", () => {
    const across = axisOf(
      sweep.points.map(({ latency }) => latency),
      false,
    );
    expect(across.log).toBe(true);
    expect(across.low).toBeLessThan(0.09);
    expect(across.high).toBeGreaterThan(1.65);
    const up = axisOf(
      sweep.points.map(({ throughput }) => throughput),
      true,
    );
    expect([up.low, up.log]).toEqual([0, false]);
  });

  it("gives the point nearest to the pointer", () => {
    expect(closest(sweep.points, 0.3)).toBe(1);
    expect(closest(sweep.points, 33, ({ load }) => load)).toBe(2);
  });
});
