// Which rows of a comparison are shown. A server narrows and pages them; a published site has them all in one file.

import { hasWords } from "../../parts/words";
import type { Query } from "../../api";
import type { ComparedLine, Comparison, Verdict } from "../../shapes";

export const PAGE = 100; // rows that are asked for at once

/** Rows that are called better or worse somewhere, the others, or both where somebody asks for a verdict. */
export type Part = "changed" | "rest" | "all";

/** The verdicts of a row, one for each side but the first. */
export function verdictsOf(line: ComparedLine): Verdict[] {
  return [line.verdict, ...line.others.map((one) => one.verdict)];
}

export function isChanged(line: ComparedLine): boolean {
  return verdictsOf(line).some((verdict) => verdict === "better" || verdict === "worse");
}

/** What a server is asked for: filters, order and grouping of the address. */
export function asked(query: Query, part: Part): { [name: string]: string | undefined } {
  return {
    words: query["words"],
    verdict: query["verdict"],
    changed: part === "all" ? undefined : String(part === "changed"),
    order: query["sort"],
    group: query["group"] === "none" ? undefined : "case",
    limit: String(PAGE),
  };
}

/** The same of a published comparison: rows come in the order of their effect, and are grouped here. */
export function narrowed(comparison: Comparison, query: Query, part: Part): Comparison {
  const fitting = comparison.lines.filter((line) => fits(line, query));
  const found = fitting.filter((line) => part === "all" || isChanged(line) === (part === "changed"));
  const lines = query["group"] === "none" ? found : grouped(found).flatMap(([, rows]) => rows);
  return { ...comparison, lines, found: found.length, fitting: fitting.length };
}

function fits(line: ComparedLine, { words = "", metric, verdict }: Query): boolean {
  if ((metric && line.metric !== metric) || (verdict && !verdictsOf(line).some((one) => one === verdict))) return false;
  return hasWords(`${line.case} ${Object.entries(line.params).flat().join(" ")} ${line.metric} ${line.machine}`, words);
}

/** Rows by their case, cases in the order in which they first come. */
export function grouped(lines: readonly ComparedLine[]): [string, ComparedLine[]][] {
  const groups = new Map<string, ComparedLine[]>();
  for (const line of lines) {
    const group = groups.get(line.case);
    if (group) group.push(line);
    else groups.set(line.case, [line]);
  }
  return [...groups];
}
