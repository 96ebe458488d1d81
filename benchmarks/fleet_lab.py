"""A lab under fire: short cases over four agents on this machine, while agents and the server are killed.

    python benchmarks/fleet_lab.py [--quick]

All cases are submitted at once. Every ten seconds one of the agents is killed with -9 and started again; the server is
killed twice. The first figure is the CPU time of all server processes, their starts included, for each case; then come
the cases that have no result or several, those whose result says that they were lost, how often a case was given to a
machine, and how many cases were measured in a second.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchwright.records import Case, Load, Target
from harness import Claim, Settings, at_most, report, settings, spread

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from lab_server import LabAgent, LabServer, lab_server

AGENTS = 4
BATCH = 100  # cases
RUN = "under-fire"
KILL_EVERY = 10.0  # seconds
LOOK = 0.5  # seconds between two looks at how far it is
PATIENCE = 3600.0  # seconds for all
SERVER_DIES_AFTER = (2, 6)  # batches


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=10, quick_rounds=1)
    return report(lab(asked), judged=not asked.quick)


def lab(asked: Settings) -> list[Claim]:
    """What a case costs the server, and whether any is lost or measured twice."""
    agents, size = (1, 5) if asked.quick else (AGENTS, BATCH)
    count = size * asked.rounds
    with tempfile.TemporaryDirectory() as name, lab_server(Path(name), lease=15.0) as server:
        code = Path(name, "work.py")
        code.write_text("def work():\n    return sum(range(1000))\n", encoding="utf-8")
        with _Killer(server, agents) as killer:
            before, began = killer.server_seconds(), time.monotonic()
            server.submit(RUN, _cases(count), files=[code])
            found = _follow(killer, size, asked.rounds, before)
            took = time.monotonic() - began
        run = server.store_do(lambda store: store.run(RUN))
        jobs = server.jobs(RUN)
    told = Counter(result.case.name for result in run.results)
    given = [job.attempt + job.losses for job in jobs]
    cases = f"{count} cases, {agents} agents, {killer.kills} kills"
    claims = {
        "cases without a result": (count - len(told), at_most(0)),
        "cases with several results": (sum(times > 1 for times in told.values()), at_most(0)),
        "cases that were lost": (sum(result.error is not None for result in run.results), at_most(0)),
        "most times that a case was given to a machine": (max(given), None),
        "times that cases were given to machines": (sum(given), None),
    }
    return [
        Claim(what="CPU of the server for each case", figure=spread(found), ours=cases, unit="ms", bar=at_most(50.0)),
        *(
            Claim(what=what, figure=spread([float(value)]), ours=cases, unit="cases", bar=bar)
            for what, (value, bar) in claims.items()
        ),
        Claim(what="cases in a second", figure=spread([count / took]), ours=cases, unit="1/s"),
    ]


def _cases(count: int) -> list[Case]:
    return [
        Case(
            name=f"case {one}",
            target=Target(runtime="python", uri="work:work"),
            load=Load(samples=3, warmup=0.0, loops=1, timeout=60.0),
        )
        for one in range(count)
    ]


def _follow(killer: _Killer, size: int, batches: int, before: float) -> list[float]:
    """Milliseconds of the server's CPU for each case, in the order in which batches of cases ended."""
    found: list[float] = []
    end = time.monotonic() + PATIENCE
    while len(found) < batches:
        done = killer.server.store_do(lambda store: sum(not job.state.is_open for job in store.lab.jobs(RUN)))
        if done >= size * (len(found) + 1):
            now = killer.server_seconds()
            found.append(1000 * (now - before) / size)
            before = now
            if len(found) in SERVER_DIES_AFTER:
                killer.kill_server()
            continue
        if time.monotonic() > end:
            raise TimeoutError(f"{done} of {size * batches} cases after {PATIENCE:.0f} s")
        time.sleep(LOOK)
    return found


class _Killer:
    """Agents that work, one of which is killed every now and then."""

    def __init__(self, server: LabServer, count: int) -> None:
        self.server = server
        self.kills = 0
        self._agents = [LabAgent(server, f"m{number}") for number in range(count)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self._used = 0.0  # CPU seconds of servers that were killed

    def __enter__(self) -> _Killer:
        for agent in self._agents:
            agent.start()
        self.server.await_machine(*(agent.name for agent in self._agents))
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        for agent in self._agents:
            with contextlib.suppress(Exception):
                agent.end()
            agent.stop()

    def server_seconds(self) -> float:
        """CPU of all servers so far."""
        return self._used + self.server.cpu_seconds()

    def kill_server(self) -> None:
        """Kills the server with -9 and starts it again."""
        self._used += self.server.cpu_seconds()
        self.server.kill()
        self.server.start()
        self.kills += 1

    def _go_on(self) -> None:
        for agent in self._draw():
            if self._over.wait(KILL_EVERY):
                return
            agent.stop()
            agent.start()
            self.kills += 1

    def _draw(self) -> Iterator[LabAgent]:
        drawn = random.Random(11)
        return (drawn.choice(self._agents) for _ in itertools.count())


if __name__ == "__main__":
    sys.exit(main())
