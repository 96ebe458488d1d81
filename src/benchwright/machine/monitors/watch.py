"""One thread of the parent that runs all monitors. It never takes more than its share of a core.

The pause between samples is the interval asked for, or as long as it takes until all samples so far were worth their
share, whichever is longer; so even a tree of thousands of processes costs less than half a percent of a core.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from benchwright import plugins
from benchwright.machine.monitors import Monitor, Observation

INTERVAL = 0.1
SHARE = 0.004  # of one core, at most: what waking up costs the system comes on top


class Watch:
    """Runs monitors beside a measurement: `start(pids)` ... `stop()`, or as a context with `pids` given.

    Monitors are given as objects or by the names they are registered under. A monitor that fails takes no other with
    it: the failure is in `observation.unavailable` under its name.
    """

    def __init__(
        self,
        monitors: Sequence[Monitor] = (),
        pids: Sequence[int] = (),
        *,
        names: Sequence[str] = (),
        interval: float = INTERVAL,
    ) -> None:
        self._monitors = [*monitors, *(plugins.load("monitors", name)() for name in names)]
        self._pids, self._measured = list(pids), list[int]()
        self._interval = interval
        self._done = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="benchwright-watch", daemon=True)
        self._failed: dict[str, str] = {}
        self.observation = Observation()

    def start(self, pids: Sequence[int], *, measured: Sequence[int] = ()) -> None:
        """Returns when every monitor has taken its first sample.

        `measured` are the processes below the workers that are measured, where the workers only ask them: monitors of
        what is measured watch those alone. Monitors of what others do are given the workers as ever.
        """
        self._pids, self._measured = list(pids), list(measured)
        self._thread.start()
        self._ready.wait()

    def stop(self) -> Observation:
        """Everything that every monitor saw. May be called again, with the same answer."""
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        return self.observation

    def __enter__(self) -> Watch:
        self.start(self._pids)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _run(self) -> None:
        began, cpu_began = time.perf_counter(), time.thread_time()
        try:
            self._each("start")
        finally:
            self._ready.set()
        pause, first, cpu_first = self._interval, time.perf_counter(), time.thread_time()
        while not self._done.wait(pause):
            self._each("sample")
            earned = (time.thread_time() - cpu_first) / SHARE  # seconds that the samples so far must be spread over
            pause = max(self._interval, earned - (time.perf_counter() - first))
        seen = self._each("stop")
        elapsed = max(1e-9, time.perf_counter() - began)
        self.observation = _merge_observations(seen, self._failed, 100 * (time.thread_time() - cpu_began) / elapsed)

    def _each(self, method: str) -> list[Observation]:
        answers = []
        for monitor in self._monitors:
            if monitor.name in self._failed:
                continue
            try:
                if method == "start":
                    narrow = self._measured and getattr(monitor, "of_measured", False)
                    monitor.start(self._measured if narrow else self._pids)
                else:
                    answers.append(getattr(monitor, method)())
            except Exception as error:  # the border of this thread: a monitor may come from any package
                self._failed[monitor.name] = f"unavailable: {method} failed: {type(error).__name__}: {error}"
        return answers


def _merge_observations(observations: Sequence[Observation], failed: dict[str, str], cost: float) -> Observation:
    return Observation(
        metrics=tuple(metric for seen in observations for metric in seen.metrics),
        timelines=tuple(timeline for seen in observations for timeline in seen.timelines),
        unavailable={what: why for seen in observations for what, why in seen.unavailable.items()} | failed,
        cost=cost,
    )
