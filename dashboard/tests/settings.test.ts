// What people type on the settings pages, and what is said back.

import { describe, expect, test } from "vitest";
import { initials, roleText } from "../src/frame/account";
import { percentOf, shareOf } from "../src/pages/settings/actions";
import { often, what } from "../src/pages/settings/notifications";
import type { About } from "../src/shapes";

describe("per cent", () => {
  test.each([
    ["5", 0.05],
    [" 5 % ", 0.05],
    ["2,5", 0.025],
    ["0", 0],
    ["150", 1.5],
    ["0.1", 0.001],
  ])("%s is a share", (typed, share) => expect(shareOf(typed)).toBe(share));
  test.each(["", " ", "x", "-1", "5 5", "Infinity", "NaN", "%"])("%s is none", (typed) =>
    expect(shareOf(typed)).toBe(null),
  );
  test.each([0.05, 0.025, 0.001, 1.5, 0, 0.07])("%f comes back as it was", (share) =>
    expect(shareOf(percentOf(share))).toBe(share),
  );
});

test("a target in words", () => {
  expect(what({ verdicts: ["worse"], cases: "*", smallest: 0 })).toBe("worse in every case");
  expect(what({ verdicts: ["worse", "better"], cases: "vision/*", smallest: 0.05 })).toBe(
    "worse and better from 5 % in vision/*",
  );
  expect(often({ times: 0, told: 0 })).toBe("told of nothing");
  expect(often({ times: 1, told: 3 })).toBe("told 1 time, of 3 changes");
});

test("the letters of a person", () => {
  expect(initials("Ada Lovelace <ada@example.com>")).toBe("AL");
  expect(initials("ada@example.com")).toBe("AC");
  expect(initials("Zoë")).toBe("Z");
  expect(initials("<7>")).toBe("?");
});

test("what a visitor may do", () => {
  const about = { scopes: ["read", "triage"] } as unknown as About;
  expect(roleText(about)).toBe("may look and triage");
  expect(roleText({ ...about, scopes: [] })).toBe("may not look at anything yet");
});
