// A published site holds some runs, series and comparisons. A link to what it does not hold is shown as plain text there,
// whichever page draws it: nothing is offered that cannot be had.

import { options, type VNode } from "preact";
import { isStatic, isThere } from "../api";
import { parse } from "../route";

const SIDES = ["a", "b", "c", "d", "e", "f", "g", "h"];

/** Has every link that is drawn from now on lead somewhere, or be text. */
export function startPublished(): void {
  if (!isStatic) return;
  const before = options.vnode;
  options.vnode = (node: VNode) => {
    const props = node.props as { href?: unknown };
    if (node.type === "a" && typeof props.href === "string" && !leadsSomewhere(props.href)) {
      node.type = "span";
      delete props.href;
    }
    before?.(node);
  };
}

/** Whether a page that an address names can be shown; addresses of elsewhere can. */
export function leadsSomewhere(address: string): boolean {
  if (!address.startsWith("#/")) return true;
  const { page, parts, query } = parse(address);
  const [name] = parts;
  if (page === "live" || page === "lab") return false;
  if (page === "compare") {
    const [a = "", ...others] = SIDES.flatMap((side) => query[side] || []);
    const b = others.length === 1 ? others[0] : others;
    return !others.length || isThere("compare", { a, b });
  }
  if (!name) return true;
  if (page === "findings") return isThere(`findings/${encoded(name)}`) || isThere(`causes/${encoded(name)}`);
  if (page === "series") return name.split(",").every((key) => isThere(`series/${encoded(key)}`));
  return !["runs", "results", "machines"].includes(page) || isThere(`${page}/${encoded(name)}`);
}

function encoded(name: string): string {
  return encodeURIComponent(name);
}
