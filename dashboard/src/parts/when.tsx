// An instant, and how long ago that was as long as that says more: <When at={run.started_at} />

import { ago, date, day } from "./format";

export function When({ at }: { at: number }) {
  const past = ago(at);
  return (
    <>
      <span class="nowrap">{date(at)}</span> {past !== day(at) && <span class="soft">{past}</span>}
    </>
  );
}
