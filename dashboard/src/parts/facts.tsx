// Names with their values.
//   <dl class="facts"><Fact name="Started">2026-11-16</Fact></dl>  a few, side by side
//   <Facts facts={result.environment} label="Environment" />  of any depth, as one table; a search appears when there are many

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Value } from "../shapes";
import { value } from "./format";
import { useScrollStop } from "./scrolling";
import { hasWords } from "./words";
import "./facts.css";

const WITHOUT_SEARCH = 12;
const BYTES = new Set(["memory", "memory_available", "total", "used", "L1d", "L1i", "L1", "L2", "L3", "L4"]);

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** An environment, what a runtime reported, what is known of the measurement itself. */
export function Facts({ facts, label }: { facts: { [name: string]: Value }; label: string }) {
  const [words, setWords] = useState("");
  const room = useRef<HTMLDivElement>(null);
  const lines = flat(facts);
  const found = lines.filter(([path, text]) => hasWords(`${path.join(" ")} ${text}`, words));
  return (
    <div class="known">
      {lines.length > WITHOUT_SEARCH && (
        <label class="field">
          Filter {lines.length} properties
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      )}
      <div class="known-lines" ref={room} {...useScrollStop(room)}>
        <table aria-label={label}>
          <tbody>
            {found.map(([path, text], i) => (
              <tr key={path.join(".")} class={i && begins(path, found[i - 1]![0]) ? "known-next" : ""}>
                <th scope="row">
                  {path.length > 1 && <span class="soft">{path.slice(0, -1).map(spaced).join(" · ")} · </span>}
                  {spaced(path.at(-1) ?? "")}
                </th>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!found.length && <p class="soft">{lines.length ? "No matching properties." : "Nothing was recorded."}</p>}
    </div>
  );
}

/** Whether a group of facts begins or ends here. */
function begins(path: readonly string[], before: readonly string[]): boolean {
  return path[0] !== before[0] && (path.length > 1 || before.length > 1);
}

/** Each fact with the names that lead to it. Lists of plain values stay in one line. */
export function flat(of: Value, path: string[] = []): [string[], string][] {
  if (of === null || typeof of !== "object") return [[path, written(of, path.at(-1))]];
  if (Array.isArray(of) && of.every((item) => item === null || typeof item !== "object"))
    return [[path, of.map((item) => written(item, path.at(-1))).join(", ") || "none"]];
  const entries = Array.isArray(of) ? of.map((item, i): [string, Value] => [String(i), item]) : Object.entries(of);
  return entries.flatMap(([name, inner]) => flat(inner, [...path, name]));
}

/** A plain value as text; the name tells whether it counts bytes. */
export function written(of: Value, name = ""): string {
  if (of === null) return "–";
  if (typeof of === "boolean") return of ? "yes" : "no";
  if (typeof of === "number")
    return BYTES.has(name) ? value(of, "B") : String(Number.isInteger(of) ? of : Number(of.toPrecision(6)));
  return typeof of === "string"
    ? of
    : flat(of)
        .map(([path, text]) => [...path, text].join(" "))
        .join(", ");
}

function spaced(name: string): string {
  return name.replaceAll("_", " ");
}
