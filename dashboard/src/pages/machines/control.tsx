// The control benchmark of a machine: whether it is as fast as it was, in per cent of what is usual there.

import { useMemo } from "preact/hooks";
import { isThere } from "../../api";
import { Swatch } from "../../parts/badges";
import { Chart, type ChartLine, type ChartMark } from "../../parts/chart";
import { date, number, value } from "../../parts/format";
import { spansOf } from "../../parts/quarantined";
import { href } from "../../route";
import type { ControlLine, MachineView } from "../../shapes";

export function Control({ view }: { view: MachineView }) {
  const { control, quarantines } = view;
  const lines = useMemo(
    () =>
      control.map((one, colour): ChartLine => ({ label: one.name, unit: "%", at: one.at, point: one.values, colour })),
    [control],
  );
  const spans = useMemo(() => spansOf(quarantines), [quarantines]);
  const marks = useMemo(
    () =>
      quarantines
        .filter((one) => one.finding && isThere(`findings/${one.finding}`))
        .map(
          (one): ChartMark => ({
            at: one.since,
            label: "slower",
            verdict: "worse",
            up: true,
            href: href("findings", [one.finding]),
          }),
        ),
    [quarantines],
  );
  const [first] = control;
  if (!first) return null;
  return (
    <section class="panel section" aria-labelledby="control">
      <h2 id="control">Control benchmark</h2>
      <p class="soft small noise-words">
        Time of a call of fixed work, in per cent of what is usual here: more is slower. A lasting change puts the
        machine into quarantine. Version {first.version}, Python {first.python}.
      </p>
      <ul class="row health-legend small" aria-label="Lines of the chart">
        {control.map((one, index) => (
          <li key={one.name}>
            <Swatch index={index} /> <a href={href("series", [one.series])}>{one.name}</a>{" "}
            <span class="soft">usually {value(one.usual, "s")}</span>
          </li>
        ))}
      </ul>
      <Chart
        label="Control benchmark over time"
        lines={lines}
        marks={marks}
        spans={spans}
        tip={(line, index, pinned) => <Reading one={control[line]!} index={index} pinned={pinned} />}
        height={240}
      />
      {quarantines.length > 0 && (
        <p class="soft small">Shaded: the machine was in quarantine. Its control benchmark is judged all the same.</p>
      )}
    </section>
  );
}

function Reading({ one, index, pinned }: { one: ControlLine; index: number; pinned: boolean }) {
  const run = one.runs[index] ?? "";
  const share = one.values[index] ?? 0;
  return (
    <>
      <strong>{number(share)} %</strong> of the usual
      <div>
        {one.name}: {value((share / 100) * one.usual, "s")}
      </div>
      <div class="soft">{date(one.at[index] ?? 0)}</div>
      {pinned && isThere(`runs/${run}`) ? (
        <a href={href("runs", [run])}>Run</a>
      ) : (
        <div class="soft small">run {run}</div>
      )}
    </>
  );
}
