from __future__ import annotations

from benchwright.machine.monitors import Observation
from benchwright.machine.monitors.process import ProcessMonitor
from benchwright.machine.monitors.tree import Totals, TreeUse
from benchwright.records import Metric


class ScriptedTree:
    """A tree whose every look is written down beforehand; the last one stays."""

    def __init__(self, uses: list[TreeUse], totals: list[Totals]) -> None:
        self.uses, self._totals = uses, totals
        self.refreshes = 0
        self.closed = False

    def refresh(self) -> None:
        self.refreshes += 1

    def use(self) -> TreeUse:
        return self.uses.pop(0) if len(self.uses) > 1 else self.uses[0]

    def totals(self) -> Totals:
        return self._totals.pop(0) if len(self._totals) > 1 else self._totals[0]

    def pids(self) -> list[int]:
        return [1]

    def close(self) -> None:
        self.closed = True


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def watched(tree: ScriptedTree, samples: int, step: float) -> Observation:
    clock = Time()
    monitor = ProcessMonitor(open_tree=lambda pids: tree, now=clock)
    monitor.start([1])
    for _ in range(samples):
        clock.now += step
        monitor.sample()
    return monitor.stop()


def by_name(seen: Observation) -> dict[str, Metric]:
    return {metric.name: metric for metric in seen.metrics}


def use(rss: int, cpu: float, *, threads: int = 1, faults: int = 0, major: int = 0) -> TreeUse:
    return TreeUse(rss, threads, cpu, faults, major)


def test_figures_are_those_of_the_tree() -> None:
    tree = ScriptedTree(
        [use(100, 5.0, faults=10), use(300, 5.5, threads=4, faults=11), use(200, 6.5, faults=40, major=2)],
        [
            Totals(peak=250, voluntary=10, involuntary=1, read=1000, written=0),
            Totals(peak=350, voluntary=30, involuntary=6, read=1500, written=64),
        ],
    )
    seen = watched(tree, samples=2, step=0.5)
    points = {name: metric.estimate.point for name, metric in by_name(seen).items()}
    assert points == {
        "rss_peak": 350,  # one process was larger between two samples than the tree at any of them
        "rss_mean": (100 + 300 + 200 + 200) / 4,
        "threads": 4,
        "cpu": 150.0,  # 1.5 s in one
        "context_switches": 25,
        "context_switches_involuntary": 5,
        "page_faults": 30,
        "page_faults_major": 2,
        "io_read": 500,
        "io_write": 64,
    }
    lines = {line.name: (line.seconds, line.values) for line in seen.timelines}
    assert lines == {
        "rss": ((0.0, 0.5, 1.0, 1.0), (100.0, 300.0, 200.0, 200.0)),
        "cpu": ((0.5, 1.0), (100.0, 200.0)),
    }
    assert tree.closed


def test_the_tree_is_searched_once_a_second() -> None:
    tree = ScriptedTree([use(1, 0.0)], [Totals()])
    watched(tree, samples=40, step=0.1)
    assert tree.refreshes in (4, 5)  # once each second and once at the end; tenths do not add up exactly


def test_what_the_system_does_not_tell_is_unavailable_not_zero() -> None:
    reasons = {"io": "no right", "page_faults": "not told", "context_switches": "not told"}
    tree = ScriptedTree([use(1, 0.0), use(1, 1.0)], [Totals(reasons=reasons)])
    seen = watched(tree, samples=1, step=1.0)
    assert set(by_name(seen)) == {"rss_peak", "rss_mean", "threads", "cpu"}
    assert seen.unavailable == {what: f"unavailable: {why}" for what, why in reasons.items()}


def test_a_worker_that_has_ended_does_not_pull_the_mean_down() -> None:
    tree = ScriptedTree([use(100, 1.0), use(100, 1.0), use(0, 1.0, threads=0)], [Totals(peak=100)])
    seen = watched(tree, samples=5, step=0.1)
    assert by_name(seen)["rss_mean"].estimate.point == 100


def test_a_worker_that_was_never_there_gives_no_memory() -> None:
    seen = watched(ScriptedTree([use(0, 0.0, threads=0)], [Totals()]), samples=3, step=0.1)
    assert "rss_peak" not in by_name(seen)
