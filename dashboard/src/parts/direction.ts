// Names that come from elsewhere may hold characters that turn the direction of writing around, and with it whatever
// stands beside them. They are shown written out, like "\\u202e", in every text and title; links and data keep them.

import { Fragment, options, type VNode } from "preact";

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const SHOWN = ["title", "aria-label", "placeholder", "alt"];

/** The text with each of those characters written out. */
export function straight(text: string): string {
  return text.replace(TURNING, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Has every element that is drawn from now on show its texts so. */
export function startDirection(): void {
  const before = options.vnode;
  options.vnode = (node: VNode) => {
    if (typeof node.type === "string" || node.type === Fragment) straighten(node.props as Record<string, unknown>);
    before?.(node);
  };
}

function straighten(props: Record<string, unknown>): void {
  if ("children" in props) props.children = shown(props.children);
  for (const name of SHOWN) {
    const text = props[name];
    if (typeof text === "string") props[name] = straight(text);
  }
}

function shown(children: unknown): unknown {
  if (typeof children === "string") return straight(children);
  return Array.isArray(children) ? children.map(shown) : children;
}
