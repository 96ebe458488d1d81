"""Other machines: the way to the first timed call over ssh, files that are not sent twice, CPU of the transport.

    python benchmarks/fleet.py [--quick]

A real sshd on loopback is the other machine, warm: it was measured on before. The first figure is the wall time from
starting `benchwright run --host ssh:NAME` to time zero of its first round, less that of the same command without
--host, round by round. The last is the CPU time, on the measuring machine, of everything but the worker while calls are
timed: the outpost with its monitors and sshd.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns

import startup

from benchwright.events import Event, Reached
from benchwright.execution.attempt import HEAD_START
from benchwright.execution.hosts.ssh import SshHost
from benchwright.execution.rounds import Plan, execute
from benchwright.records import Case, Load, Mode, Status, Target
from harness import Claim, Settings, at_most, command, interleaved, report, settings, spread, subjects

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import sshd

LARGE = 500_000_000  # bytes
BEFORE_END = 0.1  # seconds: the look at CPU times ends inside the timed phase


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=15, quick_rounds=1)
    if not shutil.which("ssh") or not Path(sshd.SSHD).exists():
        print("not installed: openssh")
        return 0
    with machine() as server:
        claims = [*first_call(asked), *large_model(asked), *transport(asked, server)]
    return report(claims, judged=not asked.quick)


@contextlib.contextmanager
def machine() -> Iterator[sshd.Sshd]:
    """A machine that ssh reaches as `rack1`, with a cache of its own, gone at the end with all that it held."""
    with tempfile.TemporaryDirectory() as name, sshd.running(Path(name, "sshd")) as server:
        names = ("BENCHWRIGHT_SSH_OPTIONS", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "BENCHWRIGHT_CACHE")
        before = {name: os.environ.get(name) for name in names}
        (Path(name) / "run").mkdir(mode=0o700)
        values = (server.options, str(Path(name, "cache")), str(Path(name, "run")), str(Path(name, "cache", "own")))
        os.environ.update(zip(names, values, strict=True))
        try:
            yield server
        finally:
            for variable, value in before.items():
                os.environ.pop(variable) if value is None else os.environ.update({variable: value})


def first_call(asked: Settings) -> list[Claim]:
    """From the command to the first timed call, beyond what it takes here."""
    model = subjects.model()
    with tempfile.TemporaryDirectory() as name:
        _to_first_call(model, Path(name), HOST)  # warm: the outpost and the model are there
        contenders = {
            "ssh": partial(_to_first_call, model, Path(name), HOST),
            "local": partial(_to_first_call, model, Path(name), []),
        }
        found = interleaved(contenders, asked.rounds)
    return [
        Claim(
            what="command to first timed call on a warm ssh host, beyond that here",
            ours=f"{spread(found['ssh']).point:.3f} s",
            against=f"local {spread(found['local']).point:.3f} s",
            figure=spread([a - b for a, b in zip(found["ssh"], found["local"], strict=True)]),
            unit="s",
            bar=at_most(0.5),
        )
    ]


HOST = ["--host", f"ssh:rack1?python={sys.executable}"]


def _to_first_call(model: Path, folder: Path, more: Sequence[str]) -> float:
    """Seconds until time zero; over ssh until the word of it has arrived here, which is a little later."""
    given = ["run", str(model), "--runtime", "onnxruntime", *command.ONE_THREAD, "--rounds", "1", *more]
    began = perf_counter_ns()
    done = command.outcome([sys.executable, "-c", startup.COMMAND, *given, "--duration", "0.05s", "--json"], folder)
    return (int(done.stderr.splitlines()[-1]) + HEAD_START - began) / 1e9


def large_model(asked: Settings) -> list[Claim]:
    """What a second run with the same large model sends, and what it waits for longer than with a small one."""
    size = asked.pick(LARGE, 20_000_000)
    with tempfile.TemporaryDirectory() as name:
        model = _write_large(Path(name), size)
        time.sleep(2.5)  # a file that changed a moment ago is not trusted to stay as it is
        sent, seconds = [], []
        for _ in range(3):
            before = _sent()
            seconds.append(_to_first_call(model, Path(name), HOST))
            sent.append((_sent() - before) / 1e6)
    return [
        Claim(
            what=f"sent for a model of {size / 1e6:.0f} MB, the second time",
            ours=f"{sent[1]:.2f} MB",
            against=f"the first time {sent[0]:.0f} MB",
            figure=spread(sent[1:]),
            unit="MB",
            bar=at_most(1.0),
        ),
        Claim(
            what="... command to first timed call, the second time",
            against=f"the first time {seconds[0]:.2f} s",
            figure=spread(seconds[1:]),
            unit="s",
        ),
    ]


def _write_large(folder: Path, size: int) -> Path:
    """A model that takes one row of a large table, which lies in a file of its own."""
    import onnx
    from onnx import TensorProto, helper

    rows = size // 4
    with (folder / "weights").open("wb") as file:
        for _ in range(rows // 250_000):
            file.write(os.urandom(1_000_000))
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[rows], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights"), ("offset", "0"), ("length", str(4 * rows))):
        table.external_data.add(key=key, value=value)
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Gather", ["table", "x"], ["y"])], "graph", [x], [y], [table])
    path = folder / "large.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def _sent() -> int:
    """Bytes that the kept connection has written: to the other machine, and what came back from it."""
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = command_line.read_bytes()
            if b"\0-f\0-N\0" in words and os.environ["XDG_RUNTIME_DIR"].encode() in words:
                told = (command_line.parent / "io").read_text().split()
                return int(told[told.index("wchar:") + 1])
    return 0


def transport(asked: Settings, server: sshd.Sshd) -> list[Claim]:
    """CPU of all but the worker on the measuring machine, as a share of a core: calls without a pause, and 100/s."""
    seconds = asked.pick(5.0, 1.0)
    target = Target(runtime="onnxruntime", uri=str(subjects.model()), options={"intra_op_num_threads": 1})
    loads = {
        "calls without a pause": Load(duration=seconds),
        "100 arrivals/s": Load(mode=Mode.OPEN, rate=100.0, duration=seconds),
    }
    claims = []
    for what, load in loads.items():
        meter = Meter(server.pid, seconds - BEFORE_END)
        with contextlib.closing(SshHost.from_text(HOST[1].partition(":")[2])) as host:
            case = Case(name=what, target=target, load=load)
            run = execute(Plan(cases=[case], rounds=max(2, asked.rounds // 3), host=host), listener=meter)
            meter.join()
        assert all(result.status is Status.OK for result in run.results), run.results[0].error
        claims.append(
            Claim(
                what=f"outpost and sshd, share of a core while calls are timed: {what}",
                against="one core",
                figure=spread(meter.shares),
                unit="%",
                bar=at_most(1.0),
            )
        )
    return claims


class Meter:
    """Reads CPU times below sshd, the worker apart, when a timed phase begins and shortly before it ends."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.shares: list[float] = []
        self._pid, self._seconds = pid, seconds
        self._timers: list[threading.Timer] = []

    def __call__(self, event: Event) -> None:
        """The runner's events."""
        if isinstance(event, Reached) and event.phase == "measuring":
            began, used = time.perf_counter(), _used(self._pid)
            self._timers.append(threading.Timer(self._seconds, self._end, (began, used)))
            self._timers[-1].start()

    def join(self) -> None:
        """Returns when every look has ended."""
        for timer in self._timers:
            timer.join()

    def _end(self, began: float, used: float) -> None:
        self.shares.append(100 * (_used(self._pid) - used) / (time.perf_counter() - began))


def _used(server: int) -> float:
    """CPU seconds of the processes below sshd that are not the worker, which alone has loaded the runtime."""
    return sum(_cpu_seconds(pid) for pid in _below(server) if not _is_worker(pid))


def _is_worker(pid: int) -> bool:
    try:
        return "onnxruntime" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def _cpu_seconds(pid: int) -> float:
    """CPU seconds of all threads of a process, to the nanosecond where the kernel keeps them."""
    used = 0.0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            used += int((thread / "schedstat").read_text().split()[0]) / 1e9
    return used


def _below(parent: int) -> list[int]:
    """Every process that descends from another."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid = int(status.parent.name)
            children.setdefault(int(status.read_text().rpartition(")")[2].split()[1]), []).append(pid)
    found, left = [], [parent]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


if __name__ == "__main__":
    sys.exit(main())
