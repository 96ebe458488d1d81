// Where a visitor is: everything a page shows is in the address, so that every state can be shared.
//   #/series/KEY?log=1&from=... -> { page: "series", parts: ["KEY"], query: { log: "1", from: "..." } }

import { useEffect, useState } from "preact/hooks";

export interface Route {
  page: string;
  parts: string[];
  query: { [name: string]: string };
}

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", ...parts] = path.split("/").map(decoded);
  return { page: page || "overview", parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The address of a page; parameters that are empty are left out. */
export function href(
  page: string,
  parts: readonly string[] = [],
  query: { [name: string]: string | undefined } = {},
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const path = [page, ...parts].map(encodeURIComponent).join("/");
  const text = search.toString();
  return text ? `#/${path}?${text}` : `#/${path}`;
}

/** Changes parameters of the present page; `replace` leaves no step for the back button. */
export function change(changes: { [name: string]: string | undefined }, replace = false): void {
  const here = parse(location.hash);
  const there = href(here.page, here.parts, { ...here.query, ...changes });
  if (replace) {
    history.replaceState(null, "", there);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    open(there);
  }
}

/** Opens a page by its address, with a step for the back button. */
export function open(address: string): void {
  location.hash = address;
}

/** Several values in one parameter: `listed(["a", "b,c"])` is "a,b%2Cc". */
export function listed(values: readonly string[]): string {
  return values.map((one) => encodeURIComponent(one)).join(",");
}

/** The values that `listed` put into a parameter. */
export function unlisted(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(Boolean).map(decoded);
}

/** The present route, again whenever it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parse(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
