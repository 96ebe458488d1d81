// A dot beside "Live" while something is being measured.

import { useUnderWay } from "../parts/live";
import { count } from "../parts/format";
import "./livedot.css";

export function LiveDot() {
  const runs = useUnderWay();
  return runs ? (
    <span class="live-dot" title={`${count(runs, "run")} in progress`}>
      <span class="aside">{count(runs, "run")} in progress</span>
    </span>
  ) : null;
}
