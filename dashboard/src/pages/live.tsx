// Live: the runs that are under way, as they go. One that ends stays until the page is left, with a link to it.

import { useEffect, useRef, useState } from "preact/hooks";
import { isStatic } from "../api";
import { Command } from "../parts/copy";
import { Empty, Waiting } from "../parts/states";
import { useLive } from "../parts/live";
import type { PageProps } from "../shell";
import type { Live, LiveRun } from "../shapes";
import { EndedRun } from "./live/ended";
import { RunningRun } from "./live/running";
import "./live/live.css";

export function LivePage(_: PageProps) {
  return (
    <div class="stack">
      <h1>Live</h1>
      {isStatic ? <Published /> : <Following />}
    </div>
  );
}

function Published() {
  return (
    <Empty title="This is a published copy.">
      <p>Runs in progress are shown by a server: benchwright serve.</p>
    </Empty>
  );
}

function Following() {
  const { live, lost } = useLive();
  const ended = useEnded(live);
  if (!live) return lost ? <Lost /> : <Waiting />;
  return (
    <>
      {lost && <Lost />}
      {live.runs.map((run) => (
        <RunningRun key={run.run} run={run} />
      ))}
      {ended.map((run) => (
        <EndedRun key={run.run} run={run} />
      ))}
      {!live.runs.length && !ended.length && <Idle />}
    </>
  );
}

/** The runs that were seen here and are not under way any more, the newest first. */
function useEnded(live: Live | null): LiveRun[] {
  const seen = useRef(new Map<string, LiveRun>());
  const [ended, setEnded] = useState<LiveRun[]>([]);
  useEffect(() => {
    if (!live) return;
    for (const run of live.runs) seen.current.set(run.run, run);
    const present = new Set(live.runs.map((run) => run.run));
    const gone = [...seen.current.values()].filter((run) => !present.has(run.run)).reverse();
    setEnded((before) => (before.length === gone.length && before.every((run, i) => run === gone[i]) ? before : gone));
  }, [live]);
  return ended;
}

function Lost() {
  return (
    <p class="live-lost" role="status">
      The connection to the server is lost; reconnecting.
    </p>
  );
}

function Idle() {
  return (
    <Empty title="No runs in progress.">
      <p>A run appears here when it begins, from any machine:</p>
      <Command text={`benchwright run model.onnx --store ${location.origin}${location.pathname}`} />
    </Empty>
  );
}
