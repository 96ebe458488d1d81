"""Carries out a pass on a device: files there, commands around it here, the program, its outputs back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchwright.errors import BenchwrightError, DecodeError, MeasureError
from benchwright.machine.devices import Device, ProgramEnd
from benchwright.records import Failure, ResultWarning
from benchwright.targets.specs.passes import HostCommands, Pass
from benchwright.targets.specs.rows import outputs
from benchwright.targets.specs.rows.converters import RowCollector, readers
from benchwright.targets.specs.rows.entries import MOST_CUSTOM, MOST_ENTRIES, Entries
from benchwright.worker.runtimes.binary.files import DeviceFiles, fill_tokens, last_word
from benchwright.worker.runtimes.binary.words import PlaceholderValues, words
from benchwright.worker.runtimes.failures import failure_of_exit, shorten_command

TOLD = 1.0  # seconds between two words to whoever watches the run
MOST_KEPT = 100  # argument lists that are told
ERROR = "error"  # the metric that compares outputs with golden ones


class _EndedBadlyError(Exception):
    """A command that failed, so nothing after it is run."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class PassRunner:
    """One pass on one device; `host` is this machine, where steps around the program run and outputs arrive.

    After `run`, `entries`, `compared`, `commands`, `warnings` and `failure` tell what there is to tell.
    """

    def __init__(
        self,
        one: Pass,
        device: Device,
        host: Device,
        *,
        kept: Path,
        deadline: Callable[[], float],
        hear: Callable[[bytes], None] = lambda data: None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._pass, self._device, self._host = one, device, host
        self._kept, self._left, self._hear, self._tell = kept, deadline, hear, tell
        self._files = DeviceFiles(one, device, host)
        self._next_word = 0.0
        self._unknown: dict[str, None] = {}
        self._bad, self._example = 0, ""
        self._few = ""
        self.entries = Entries()
        self.compared: dict[str, outputs.ComparedRows] = {}  # of the last repeat
        self.commands: list[list[str]] = []
        self.host_commands: list[list[str]] = []
        self.executions = 0  # of main commands
        self.warnings: list[ResultWarning] = []
        self.failure: Failure | None = None

    def prepare(self) -> None:
        """Puts the programs that commands name on the device; a `LoadError` when one is not there."""
        self._files.push_programs()
        usable = self._device.about.facts.get("cpus")
        if isinstance(usable, list) and not set(self._pass.cpus) <= {cpu for cpu in usable if isinstance(cpu, int)}:
            seen = f"the spec asks for the CPUs {list(self._pass.cpus)}, and programs can be kept on {usable} here"
            self._warn("not-pinned", seen, "change the spec's cpu-list; control and treatment may differ in their CPU")

    def run(self) -> None:
        """The whole pass with all its repeats. A failure ends it; what came before stays."""
        try:
            for index in range(max(1, self._pass.repeat)):
                self._run_repeat(index)
        except _EndedBadlyError as ended:
            self.failure = ended.failure
        except BenchwrightError as error:
            self.failure = Failure(kind=error.kind, message=error.message, remedy=error.remedy)
        self._conclude()

    # ---- the order of one repeat ----

    def _run_repeat(self, index: int) -> None:
        one, files = self._pass, self._files
        here = files.names(index, on_device=False)
        if index == 0:
            self._run_step(one.before, here)
        self._run_step(one.before_each, here)
        if index == 0:
            files.push_model(here)
        if index == 0 or one.before_each is not None:  # which may have made them anew
            files.push_inputs(here)
        there = files.names(index, on_device=True)
        files.forget_outputs(there)
        if one.sleep_before_run > 0:
            time.sleep(min(one.sleep_before_run, max(0.0, self._left())))
        for command in one.commands:
            self._run_main_command(command, there)
        pulled = self._pull(there)
        after = files.names(index, on_device=False, pulled=pulled)
        self._run_step(one.after_each, after)
        if index == max(1, one.repeat) - 1:
            self._run_step(one.after, after)
        self._read_outputs(pulled)

    def _run_step(self, step: HostCommands | None, names: PlaceholderValues) -> None:
        """Commands on this machine; rows that they print count like the program's."""
        if step is None:
            return
        env = {name: fill_tokens(value, names) for name, value in step.env.items()}
        with_files = self._files.with_step_files(names, step.files)
        for command in step.commands:
            argv = self._split_command(command, with_files)
            self._note(self.host_commands, argv)
            timeout = step.timeout if step.timeout is not None else self._pass.timeout
            found, failure = self._execute(self._host, argv, env=env, timeout=timeout)
            self._add(found)
            if failure is not None:
                raise _EndedBadlyError(failure)

    def _run_main_command(self, command: str, names: PlaceholderValues) -> None:
        """Runs a command until it has told of enough executions of the model, or tells nothing new."""
        one = self._pass
        extra = one.tokens.get("pep_extra_args", "")
        argv = self._split_command(f"{command} {extra}" if extra and len(one.commands) == 1 else command, names)
        wanted = one.iterations if one.metric != ERROR else -1
        total, failure, seen = Entries(wanted), None, 0
        while failure is None:
            self._note(self.commands, argv)
            self.executions += 1
            found, failure = self._execute(
                self._device, argv, env=self._files.env(names), timeout=one.timeout, cpus=one.cpus, limit=wanted
            )
            new = found.values_of_runs()
            total.add(found)
            seen += new
            if seen >= wanted or not new or self._left() <= 0:
                break
        if one.metric != ERROR:
            self._add(total)
        if failure is not None:
            raise _EndedBadlyError(failure)
        if 0 < seen < wanted:
            line = shorten_command(self._files.name_for_user(argv))
            self._few = f"{line} reported {seen} executions, and the spec asks for {wanted}"

    def _execute(
        self,
        device: Device,
        argv: list[str],
        *,
        env: Mapping[str, str],
        timeout: float | None,
        cpus: tuple[int, ...] = (),
        limit: int = -1,
    ) -> tuple[Entries, Failure | None]:
        """One execution: what it told, and how it failed."""
        one = self._pass
        collector = RowCollector(
            readers(one.converter, one.converter_args, framework=one.framework, seed=one.seed_dialect), limit
        )

        def heard(data: bytes) -> None:
            self._hear(data)
            collector.feed(data)
            if (now := time.monotonic()) >= self._next_word and (latest := collector.latest()):
                self._next_word = now + TOLD
                self._tell(latest)

        allowed = max(0.001, min(self._left(), self._left() if timeout is None else timeout))
        ended = device.run(argv, env=env, timeout=allowed, output=heard, cpus=cpus)
        if ended.ok and not collector.latest():  # an app on a phone prints to the phone's log
            with contextlib.suppress(MeasureError):
                heard(device.logged().encode())
        found = collector.finish()
        self._bad += collector.bad
        self._example = self._example or collector.example
        return found, _failure(self._files.name_for_user(argv), ended, allowed)

    # ---- outputs ----

    def _pull(self, names: PlaceholderValues) -> dict[str, Path]:
        """The outputs by key. One that is missing matters where something is to be read from it."""
        found = {}
        for file in self._pass.output_files:
            name = self._files.name(file, names)
            inside = not name.startswith("/") and ".." not in Path(name).parts
            target = self._kept / (name if inside else Path(name).name)
            try:
                self._device.pull(name, target)
            except MeasureError as error:
                if self._pass.metric == ERROR or file.converter:
                    raise MeasureError(
                        f"the program wrote no output {last_word(file.key)}: {error.message}", remedy="see its log"
                    ) from None
                self._warn("no-output", f"output {last_word(file.key)} was not written: {error.message}", "see the log")
                continue
            found[file.key] = target
        return found

    def _read_outputs(self, pulled: Mapping[str, Path]) -> None:
        for file in self._pass.output_files:
            path = pulled.get(file.key)
            if path is None:
                continue
            if file.converter:
                collector = RowCollector(readers(file.converter, file.args, framework=self._pass.framework))
                collector.feed(_bytes(path))
                self._add(collector.finish())
                self._bad += collector.bad
                self._example = self._example or collector.example
            if self._pass.metric == ERROR and file.path:
                name = last_word(file.key)
                self.compared[name] = outputs.compare_files(name, path, Path(file.path))

    def _split_command(self, command: str, names: PlaceholderValues) -> list[str]:
        argv, unknown = words(command, names)
        self._unknown.update(dict.fromkeys(unknown))
        return argv

    # ---- what there is to say ----

    def _add(self, found: Entries) -> None:
        for key in self.entries.add(found):
            seen = f"{key} came in two units, or of two types; the later ones were left out"
            self._warn("mixed-units", seen, "print one unit, and types whose names are not mistaken for metrics")

    @staticmethod
    def _note(told: list[list[str]], argv: list[str]) -> None:
        if len(told) < MOST_KEPT:
            told.append(argv)

    def _warn(self, code: str, seen: str, remedy: str) -> None:
        warning = ResultWarning(code=code, seen=seen, remedy=remedy)
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _conclude(self) -> None:
        if self._unknown:
            shown = ", ".join(f"{{{name}}}" for name in self._unknown)
            self._warn("unresolved", f"there is no value for {shown}", "name a key of the test or model, or a token")
        if self._bad:
            seen = f"{self._bad} rows were left out; the first, {self._example}"
            self._warn("bad-rows", seen, "see what else the program prints into its rows")
        if self._few and self.failure is None:
            self._warn("few-values", self._few, "let the program do more, or give --timeout more time")
        if self.entries.dropped:
            self._warn("many-values", f"{self.entries.dropped} early values were left out", "set `iter` in the test")
        if self.entries.left_out:
            most = f"at most {MOST_ENTRIES} entries and {MOST_CUSTOM} custom outputs are kept"
            seen = f"{self.entries.left_out} rows were left out: {most}"
            self._warn("many-entries", seen, "print rows of fewer types")
        nothing = not (len(self.entries) or self.entries.custom or self.compared)
        if nothing and self.failure is None:
            self._report_no_rows()

    def _report_no_rows(self) -> None:
        message = "the program ended without an error and printed no result"
        remedy = 'let it print rows such as {"type": "NET", "metric": "latency", "unit": "us", "value": 12.5}'
        if self._pass.metric == "generic":
            self._warn("no-rows", message, remedy)
        else:
            self.failure = Failure(kind="missing", message=message, remedy=remedy)


def _failure(argv: list[str], ended: ProgramEnd, allowed: float) -> Failure | None:
    line = shorten_command(argv)
    if ended.lost:
        return Failure(kind="lost", message=f"the device went away while {line} ran: {ended.lost}")
    return failure_of_exit(line, ended.status, timed_out=ended.timed_out, limit=allowed, what="test")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes() + b"\n"
    except OSError as error:
        raise DecodeError(f"{path.name} cannot be read: {error.strerror}") from None
