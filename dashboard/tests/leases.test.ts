import { expect, test } from "vitest";

import { totals } from "../src/pages/runs/leases";
import type { LeaseLine } from "../src/shapes";

function lease(cost: number | null, currency = "USD"): LeaseLine {
  return { machine: "aws/c7i.large", instance: "i-1", zone: "a", seconds: 60, cost, currency };
}

test("what machines cost is summed by currency, and what is not known is left out", () => {
  expect(totals([])).toBe("");
  expect(totals([lease(null, "")])).toBe("");
  expect(totals([lease(0.25), lease(0.5), lease(null, "")])).toBe(": 0.750 USD in all");
  expect(totals([lease(0.25), lease(2, "EUR")])).toBe(": 0.250 USD and 2.00 EUR in all");
});
