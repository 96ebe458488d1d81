"""The reporters of a run: each is told of every test. One that fails is named, and the others still hear."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchwright.compat.harness import outcome
from benchwright.compat.harness.documents import HarnessDocument, as_json, commit_date
from benchwright.compat.harness.flags import HarnessFlags
from benchwright.compat.harness.outcome import DeviceReport
from benchwright.compat.harness.run import DeviceMeasurement
from benchwright.compat.harness.summaries import OF_THE_SEED, SummaryRules
from benchwright.errors import BenchwrightError, OptionError
from benchwright.events import Began, Ended, Event
from benchwright.records import Result, Run
from benchwright.system.interrupts import Interrupt

ONCE = 10.0  # seconds for a server to answer while there is more to measure
_PAIRS = (("p50", "median", "MAD"), ("mean", "mean", "stdev"))


def check(flags: HarnessFlags) -> None:
    """Refuses places that cannot be reported to, before anything is measured."""
    for name in ("local_reporter", "simple_local_reporter"):
        place = Path(flags.texts[name] or ".")
        if place.exists() and not place.is_dir():
            raise OptionError(f"--{name} {place} is a file", remedy="name a folder; it is made when missing")
    if flags.texts["remote_reporter"]:
        from benchwright.compat.harness import remote_post

        remote_post.parse_endpoint(flags.texts["remote_reporter"])


class Reports:
    """The reporters of one run. Each test is told to them as soon as it is measured and kept: a kill loses none.

    A server that does not answer is not waited for between tests: what it did not take waits in the spool, and `send`
    tries again at the end.
    """

    def __init__(self, flags: HarnessFlags, works: Sequence[DeviceMeasurement]) -> None:
        self._flags = flags
        self._pairs = [work.pair for work in works]
        self._results: dict[int, Result] = {}
        self._run: Run | None = None
        self._reported: set[str] = set()
        self._server_answers = True
        self.device_reports: list[DeviceReport] = []  # of tests that were measured, in order
        self.failures: list[str] = []  # why a reporter failed, each once

    def hear(self, event: Event) -> None:
        """Listens to the runner: a test is over when its last result is there, the control's if it has one."""
        if isinstance(event, Began) and event.run is not None:
            self._run = event.run
        elif isinstance(event, Ended):
            self._results[event.index] = event.result
            if self._run is not None:
                self._report(self._run, self._pairs[event.index])

    def finish(self, run: Run) -> None:
        """Reports what the runner did not tell of: tests after an interruption, or of a run that was not kept."""
        self._results = dict(enumerate(run.results))
        for pair in dict.fromkeys(self._pairs):
            self._report(run, pair)

    def _report(self, run: Run, pair: str) -> None:
        indexes = [index for index, other in enumerate(self._pairs) if other == pair]
        if pair in self._reported or not all(index in self._results for index in indexes):
            return
        self._reported.add(pair)
        results = tuple(self._results[index] for index in indexes)
        self.tell(outcome.make_reports(replace(run, results=results), failed=True))

    def tell(self, reports: Iterable[DeviceReport]) -> None:
        """Tells the reporters of tests."""
        for one in reports:
            self._write(one.document)
            if one.document.data:
                self.device_reports.append(one)
                sys.stdout.write(_render_screen(self._flags, one))
                sys.stdout.flush()
                self._send(one)

    def _write(self, document: HarnessDocument) -> None:
        from benchwright.compat.harness import local_reporter

        if place := self._flags.texts["local_reporter"]:
            self._try("--local_reporter", lambda: local_reporter.write(Path(place), document))
        if folder := self._flags.texts["simple_local_reporter"]:
            self._try("--simple_local_reporter", lambda: local_reporter.write_simple(Path(folder), document))

    def _send(self, one: DeviceReport) -> None:
        if not self._flags.texts["remote_reporter"]:
            return
        from benchwright.compat.harness import remote_reporter

        how = remote_reporter.SendOptions(rules=SummaryRules(self._flags.rules), waits=(), timeout=ONCE)
        address, token = self._flags.texts["remote_reporter"], self._flags.texts["remote_access_token"]
        if not self._server_answers:
            self._try("--remote_reporter", lambda: remote_reporter.keep(address, [one.document], how))
            return
        try:
            remote_reporter.send(address, token, [one.document], how)
        except (BenchwrightError, OSError):  # it is in the spool; `send` says in the end what came of it
            self._server_answers = False

    def _try(self, name: str, act: Callable[[], object]) -> None:
        if (failure := _try_reporter(name, act)) and failure not in self.failures:
            self.failures.append(failure)


def send(flags: HarnessFlags, say: Callable[[str], None]) -> list[str]:
    """Sends what a server did not take before, which may take minutes: `say` hears of each wait.

    What could not be sent. Ctrl-C and SIGTERM end it; what did not arrive waits for the next time.
    """
    if not flags.texts["remote_reporter"]:
        return []
    from benchwright.compat.harness import remote_reporter

    name, interrupt = "--remote_reporter", Interrupt()
    how = remote_reporter.SendOptions(rules=SummaryRules(flags.rules), say=lambda text: say(f"{name}: {text}"))
    address, token = flags.texts["remote_reporter"], flags.texts["remote_access_token"]
    with interrupt.watch(), interrupt.allow():
        failure = _try_reporter(name, lambda: remote_reporter.send(address, token, [], how))
    return [failure] if failure else []


def _render_screen(flags: HarnessFlags, one: DeviceReport) -> str:
    """Renders a test for the screen reporters; "" when there are none."""
    texts = []
    if flags.screen:
        texts.append(screen_text(one.document, rules=SummaryRules(flags.rules)))
    if flags.simple_screen:
        texts.append(simple_screen_text(one.document))
    return "".join(text.rstrip("\n") + "\n" for text in texts)


def _try_reporter(name: str, act: Callable[[], object]) -> str:
    """Runs a reporter; returns why it failed, or ""."""
    try:
        act()
    except BenchwrightError as error:
        return f"{name}: {error}"
    except OSError as error:
        return f"{name}: {error.filename or ''}: {error.strerror or error}"
    return ""


def screen_text(document: HarnessDocument, *, rules: SummaryRules = SummaryRules.TODAY) -> str:
    """Three lines that say what was measured where, then a line for each entry and one for its difference.

    The whole model comes first, operators follow by name; that of early 2018 had the model last, and all percentiles.
    """
    meta = document.meta
    made = commit_date(document).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    lines = [
        f"NET: {meta.get('net_name')}\tMETRIC: {meta.get('metric')}\tID: {meta.get('identifier')}",
        f"PLATFORM: {meta.get('platform')}\tHASH: {meta.get('platform_hash')}",
        f"FRAMEWORK: {meta.get('framework')}\tCOMMIT: {meta.get('commit')}\tTIME: {made}",
    ]
    last = rules is SummaryRules.SEED
    for key in sorted(document.data, key=lambda key: (key.startswith("NET") is last, key)):
        lines += _entry_lines(key, document.data[key], rules)
    return "\n".join(lines) + "\n"


def simple_screen_text(document: HarnessDocument) -> str:
    """Renders the entries alone, as JSON."""
    return as_json(document.entries) + "\n"


def _entry_lines(key: str, entry: Mapping[str, Any], rules: SummaryRules) -> list[str]:
    lines = []
    for label, name in (("value", "summary"), ("diff", "diff_summary")):
        if said := _summary_text(entry.get(name) or {}, label, rules):
            lines.append(f"{key}: {said}")
    return lines or [f"{key}: {entry['info_string']}"] if "info_string" in entry else lines


def _summary_text(summary: Mapping[str, Any], label: str, rules: SummaryRules) -> str:
    if rules is SummaryRules.SEED and all(isinstance(summary.get(name), int | float) for name in OF_THE_SEED):
        return f"{label} " + "  ".join(f"{name}: {summary[name]:.2f}" for name in OF_THE_SEED)
    for centre, word, spread in _PAIRS:
        if isinstance(summary.get(centre), int | float) and isinstance(summary.get(spread), int | float):
            return f"{label} {word} {summary[centre]:.5f}  {spread}: {summary[spread]:.5f}"
    known = [f"{name}: {value:.5f}" for name, value in summary.items() if isinstance(value, int | float)]
    return f"{label} " + "  ".join(known) if known else ""
