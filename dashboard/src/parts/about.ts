// Who looks, and at what: `const about = useAbout()`; null until the server answered.
//   may(about, "triage"): whether this visitor may change findings; scopes are read, triage, write, admin.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { About } from "../shapes";

export const AboutContext = createContext<About | null>(null);

export function useAbout(): About | null {
  return useContext(AboutContext);
}

export function may(about: About | null, scope: "read" | "triage" | "write" | "admin"): boolean {
  return about !== null && !about.static && about.scopes.includes(scope);
}
