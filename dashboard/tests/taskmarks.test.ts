import { expect, test } from "vitest";
import { taskMarks } from "../src/pages/result/taskmarks";

const DETAILS = {
  log: { speed: { hits: 60, left_out_until: 4.5 }, accuracy: { hits: 3 } },
  goals: { good: { when: "accuracy >= 0.95", reached: false, seconds: 9 } },
};

test("a metric that leaves its warm-up out is marked until then", () => {
  expect(taskMarks("speed", DETAILS)).toEqual({
    leftOutUntil: 4.5,
    bound: null,
    words: "the hatched part is left out as warm-up",
  });
});

test("a value with a goal has its bound", () => {
  expect(taskMarks("accuracy", DETAILS)).toEqual({
    leftOutUntil: 0,
    bound: 0.95,
    words: "accuracy >= 0.95 not reached",
  });
});

test("what monitors saw has no marks, and details may be anything", () => {
  expect(taskMarks("rss", DETAILS)).toBeNull();
  expect(taskMarks("rss", { log: 3, goals: ["x", { when: 4 }] })).toBeNull();
});
