"""Start-up: `benchwright --help` against an empty Python, the way to the first timed call, and the smallest saved run.

    python benchmarks/startup.py [--quick]

The second is the wall time from starting `benchwright run` on a tiny ONNX model to time zero of its first round, less
what importing ONNX Runtime and loading the model take in a process that does nothing else. Warm-up is included.
The third is one call in one round, without warm-up, into a store that is there, less the whole of such a process.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns

from benchwright.execution.attempt import HEAD_START
from harness import Claim, Settings, at_most, command, interleaved, ratios, report, settings, spread, subjects

# The command line itself, with a note of the instant at which the first worker was released. The listener is wrapped
# when the command imports it, not before: nothing is imported earlier than it would be.
COMMAND = """
import sys, time
from importlib.machinery import PathFinder
released = []
class Noting:
    def find_spec(name, path, target=None):
        if name != "benchwright.cli.progress":
            return None
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def then_wrap(module):
            execute(module)
            shown = module.ProgressLine.__call__
            def noting(self, event):
                if getattr(event, "phase", "") == "measuring":
                    released.append(time.perf_counter_ns())
                shown(self, event)
            module.ProgressLine.__call__ = noting
        spec.loader.exec_module = then_wrap
        return spec
sys.meta_path.insert(0, Noting)
from benchwright.cli import main
try:
    sys.exit(main())
finally:
    print(released[0], file=sys.stderr)
"""
BACKEND = """
import sys, time
began = time.perf_counter_ns()
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.InferenceSession(sys.argv[1], options)
print(time.perf_counter_ns() - began)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    asked = settings(__doc__, arguments, rounds=30, quick_rounds=1)
    return report([*help_pages(asked), *first_call(asked), smallest_run(asked)], judged=not asked.quick)


def help_pages(asked: Settings) -> list[Claim]:
    """Time to print help, over the time in which Python starts and ends."""
    empty, ours = "python -c pass", "benchwright --help"
    commands = {empty: [sys.executable, "-c", "pass"], ours: [*command.program(), "--help"]}
    if importlib.util.find_spec("pyperf"):
        commands["pyperf --help"] = [sys.executable, "-m", "pyperf", "--help"]
    with tempfile.TemporaryDirectory() as name:  # nothing of the present folder is looked at
        found = interleaved({n: partial(_seconds, given, Path(name)) for n, given in commands.items()}, asked.rounds)
    return [
        Claim(
            what=name,
            ours=f"{spread(found[name]).point * 1e3:.0f} ms",
            against=f"{empty} {spread(found[empty]).point * 1e3:.0f} ms",
            figure=ratios(found[name], found[empty]),
            bar=at_most(2.0) if name == ours else None,
        )
        for name in commands
        if name != empty
    ]


def first_call(asked: Settings) -> list[Claim]:
    """From the command to the first timed call, beyond the backend's own import and load."""
    model = subjects.model()
    with tempfile.TemporaryDirectory() as name:
        contenders = {"ours": partial(_to_first_call, model, Path(name)), "backend": partial(_backend, model)}
        found = interleaved(contenders, max(2, asked.rounds // 2))
    ours, backend = found["ours"], found["backend"]
    texts = [f"{spread([f['seconds'] for f in side]).point:.3f} s" for side in (ours, backend)]
    beyond = [a["seconds"] - b["seconds"] for a, b in zip(ours, backend, strict=True)]
    whole = Claim(
        what="command to first timed call, beyond import and load",
        ours=texts[0],
        against=f"onnxruntime {texts[1]}",
        figure=spread(beyond),
        unit="s",
        bar=at_most(0.25),
    )
    parts = ("load_time", "warmup_time")
    return [whole, *(Claim(what=f"... its {n}", figure=spread([f[n] for f in ours]), unit="s") for n in parts)]


def smallest_run(asked: Settings) -> Claim:
    """The command that measures least and keeps it, beyond a process that imports the backend and loads the model."""
    model = subjects.model()
    ours = [*command.program(), "run", str(model), *command.ONE_THREAD, "--rounds", "1", "--samples", "1"]
    commands = {"ours": [*ours, "--warmup", "0"], "backend": [sys.executable, "-c", BACKEND, str(model)]}
    with tempfile.TemporaryDirectory() as name:
        _seconds(commands["ours"], Path(name))  # makes the store
        found = interleaved({n: partial(_seconds, given, Path(name)) for n, given in commands.items()}, asked.rounds)
    return Claim(
        what="smallest saved run, beyond import and load",
        ours=f"{spread(found['ours']).point:.3f} s",
        against=f"onnxruntime {spread(found['backend']).point:.3f} s",
        figure=spread([a - b for a, b in zip(found["ours"], found["backend"], strict=True)]),
        unit="s",
        bar=at_most(0.53),
    )


def _seconds(given: list[str], folder: Path) -> float:
    began = perf_counter_ns()
    command.outcome(given, folder)
    return (perf_counter_ns() - began) / 1e9


def _to_first_call(model: Path, folder: Path) -> dict[str, float]:
    given = ["run", str(model), *command.ONE_THREAD, "--rounds", "1", "--duration", "0.05s", "--json"]
    began = perf_counter_ns()
    done = command.outcome([sys.executable, "-c", COMMAND, *given], folder)
    zero = int(done.stderr.splitlines()[-1]) + HEAD_START
    result = command.read(done.stdout).results[0]
    once = {name: command.point(result, name) for name in ("load_time", "warmup_time")}
    return {"seconds": (zero - began) / 1e9, **once}


def _backend(model: Path) -> dict[str, float]:
    done = command.outcome([sys.executable, "-c", BACKEND, str(model)], model.parent)
    return {"seconds": int(done.stdout) / 1e9}


if __name__ == "__main__":
    sys.exit(main())
