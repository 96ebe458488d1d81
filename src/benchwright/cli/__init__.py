"""The command line. The top-level help is answered before click is imported; verbs load only when they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from benchwright._version import VERSION

TYPE_CHECKING = False  # what `typing` says too, without the time that importing it takes
if TYPE_CHECKING:
    from typing import Any

# heading -> verb -> (module, one line). The module holds a click command named `command`.
HEADINGS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "init": ("benchwright.cli.verbs.init", "Find what there is to measure here; write benchwright.toml."),
        "completion": ("benchwright.cli.verbs.completion", "Let bash, zsh or fish complete these commands."),
    },
    "Measure": {
        "run": ("benchwright.cli.verbs.run", "Measure targets; print a table, save a run."),
        "tune": ("benchwright.cli.verbs.tune", "The best of many configurations, in a race with a stated error."),
        "ab": ("benchwright.cli.verbs.ab", "Control against treatment, in interleaved pairs."),
        "bisect": ("benchwright.cli.verbs.bisect", "The commit behind a change, found despite noise."),
        "watch": ("benchwright.cli.verbs.watch", "Every new commit of a repository: build, measure, judge, tell."),
        "spec": ("benchwright.cli.verbs.spec", "Check a model spec, bring an older one over, print the JSON Schema."),
        "tasks": ("benchwright.cli.verbs.tasks", "Check a task file, and its patterns on a saved log."),
    },
    "Judge": {
        "compare": (
            "benchwright.cli.verbs.compare",
            "Two runs, revisions or files; with --against, a gate for any CI.",
        ),
        "findings": (
            "benchwright.cli.verbs.findings",
            "Changes found in series: list, show, acknowledge, resolve, mute.",
        ),
    },
    "Look": {
        "list": ("benchwright.cli.verbs.list", "What could be run; without a target, the runs in the store."),
        "show": ("benchwright.cli.verbs.show", "One run in full, its scaling, or where its model's time goes."),
        "history": ("benchwright.cli.verbs.history", "A target's results over time."),
        "cost": ("benchwright.cli.verbs.cost", "What measured work costs on each machine, cloud and market."),
        "machines": ("benchwright.cli.verbs.machines", "Who measured, how healthy that machine is; quarantine."),
        "lab": ("benchwright.cli.verbs.lab", "A server's lab: its queue and machines; follow, fetch, cancel, reserve."),
        "serve": ("benchwright.cli.verbs.serve", "A dashboard and a JSON API on a store, for browsers and programs."),
    },
    "Share": {
        "report": ("benchwright.cli.verbs.report", "Write a single-file HTML report."),
        "export": (
            "benchwright.cli.verbs.export",
            "Write runs to a file: JSON Lines, Parquet, or as other tools read them.",
        ),
        "import": (
            "benchwright.cli.verbs.import_",
            "Read runs from files of `benchwright export`, or of other tools.",
        ),
        "upload": (
            "benchwright.cli.verbs.upload",
            "Send a run's files and results to a bucket or a folder; send them again.",
        ),
        "store": ("benchwright.cli.verbs.store", "What a store holds; remove what is old; copy it elsewhere."),
        "notify": ("benchwright.cli.verbs.notify", "Tell people of findings; try whether a target works."),
        "token": ("benchwright.cli.verbs.token", "Who may use a server, and what they may do there."),
    },
    "This machine": {
        "agent": ("benchwright.cli.verbs.agent", "Offer this machine to a server's lab; measure what is submitted."),
        "env": ("benchwright.cli.verbs.env", "This machine, its noise, and what to change."),
        "devices": ("benchwright.cli.verbs.devices", "Phones and other devices that programs can be measured on."),
        "cache": ("benchwright.cli.verbs.cache", "Fetched models: list, verify, prune."),
        "prices": ("benchwright.cli.verbs.prices", "What machines cost: your own prices, and imported lists."),
        "cloud": ("benchwright.cli.verbs.cloud", "Machines of clouds: up, list, status, start, stop, down, sweep."),
        "image": ("benchwright.cli.verbs.image", "Build a container image to measure in."),
    },
    "Older command lines": {
        "harness": (
            "benchwright.cli.verbs.harness",
            "FAI-PEP's command line: model specs, programs, treatment and control.",
        ),
        "repo-driver": (
            "benchwright.cli.verbs.repo_driver",
            "FAI-PEP's repo_driver: builds commits, runs the harness.",
        ),
        "perfzero": ("benchwright.cli.verbs.perfzero", "PerfZero's command line: benchmark classes and their JSON."),
        "driver": ("benchwright.cli.verbs.driver", "The Deep Learning Benchmark driver's command line."),
    },
    "Other names": {
        "check": ("benchwright.cli.verbs.check", "compare [RUN] --against WHAT"),
        "scaling": ("benchwright.cli.verbs.scaling", "show [RUN] --scaling"),
        "operators": ("benchwright.cli.verbs.operators", "show [RUN] [RUN] --operators"),
    },
}
VERBS = {verb: entry for verbs in HEADINGS.values() for verb, entry in verbs.items()}

COMPLETE = "__complete"  # asked by the scripts of `benchwright completion`, while somebody types
INTERRUPTED = "benchwright: interrupted\n"
HELP = """\
Usage: benchwright [OPTIONS] COMMAND [ARGS]...

  Measure a target honestly, keep the result, say whether it became slower.

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

{verbs}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code: 0 all well, 1 something measured is bad, 2 a wrong request."""
    if arguments is None:
        return _run_as_process()
    argv = [*arguments]  # `list` is a verb's module in this package
    if not argv or argv[0] in ("--help", "-h"):
        sys.stdout.write(top_level_help())
        return 0
    if argv[0] == "--version":
        sys.stdout.write(f"benchwright {VERSION}\n")
        return 0
    if argv[0] == COMPLETE:
        from benchwright.cli.completion import answer

        return answer(argv[1:])
    return _run_verb(argv)


def _run_as_process() -> int:
    """The command line as a process of its own: Ctrl-C ends it without a traceback while it starts and while it ends.

    An interrupted import leaves half a module behind, and what Python prints then helps nobody. Nothing has begun yet,
    so the process leaves at once; a worker that was started early ends with it. `dispatch` lets the verb have Ctrl-C.
    """
    import _signal as signal  # type: ignore[import-not-found]  # what `signal` is made of: built in, there at once

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # in the background it is ignored
    if ours:
        signal.signal(signal.SIGINT, _leave)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed_streams()
    _ignore_stderr_failures()
    try:
        return main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED)
        return 130
    finally:
        if ours:
            signal.signal(signal.SIGINT, _leave)


def _open_closed_streams() -> None:
    """Opens streams that the caller has closed (`2>&-`) as the null device: what is printed there is lost.

    The next file that is opened, a database perhaps, would otherwise be standard output or error.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    is_mute = sys.stdout is None
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if is_mute:
        sys.stderr.write("benchwright: standard output is closed: what would be printed there is not shown\n")


def _ignore_stderr_failures() -> None:
    """Ignores failed writes to standard error: its disk may be full, its reader and its terminal gone.

    A message that cannot be written there is lost. It would otherwise end a measurement, or change an exit code.
    """
    import io

    class LossyFile(io.FileIO):
        def write(self, data: Any, /) -> int:
            try:
                return super().write(data)
            except OSError:
                return len(data)

    before = sys.stderr
    raw = io.BufferedWriter(LossyFile(before.fileno(), "w", closefd=False))
    sys.stderr = io.TextIOWrapper(raw, encoding=before.encoding, errors="backslashreplace", line_buffering=True)


def allow_interrupt() -> None:
    """Makes Ctrl-C an exception from here on, which a verb can deal with."""
    import signal

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, INTERRUPTED.encode())
    os._exit(130)


def _run_verb(argv: list[str]) -> int:
    """Runs a verb. The first worker of `run` starts up while this process still imports click and reads options."""
    import gc

    gc.disable()  # what is imported now stays: collecting in between costs milliseconds and finds nothing
    host = None
    if (
        argv[0] == "run"
        and sys.platform != "win32"
        and not any(word.startswith(("--help", "--host", "--lab")) for word in argv)
    ):
        from benchwright.execution.hosts.local import LocalHost

        host = LocalHost()
        host.get_ready()
    from benchwright.cli.dispatch import dispatch

    try:
        return dispatch(argv, host)
    finally:
        if host is not None:
            host.close()


def top_level_help() -> str:
    """Returns the text that `benchwright --help` prints."""
    width = max(map(len, VERBS))
    parts = [
        "\n".join([f"{heading}:", *(f"  {verb:<{width}}  {line}" for verb, (_, line) in verbs.items())])
        for heading, verbs in HEADINGS.items()
    ]
    return HELP.format(verbs="\n\n".join(parts))
