"""torch.profiler: a Chrome trace and a table of operators for each window, or the operators of each call."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import MeasureError
from benchwright.records import Case
from benchwright.worker.profilers import Profiler
from benchwright.worker.profilers.operator_pass import RecordedCalls
from benchwright.worker.profilers.operators import from_chrome_trace, table
from benchwright.worker.profilers.per_call import Spent
from benchwright.worker.runtimes import Loaded

_CALL, _MODULE = "benchwright.call", "benchwright.module:"  # spans of our own among the operators
MOST_TABULATED = 512 << 20  # bytes of a trace; a larger one takes too much memory to read


class TorchProfiler(Profiler):
    """Records the operators of every thread, because windows open on a thread that computes nothing itself."""

    name: ClassVar[str] = "torch"
    requires: ClassVar[str] = "torch"
    module: ClassVar[str] = "torch"

    def __init__(self) -> None:
        self._recordings: list[tuple[Path, Any]] = []

    def ready(self) -> None:
        """The first recording in a process takes a second, and the library wants it on the thread that loaded it."""
        first = _recording()
        first.start()
        first.stop()

    def start(self, stem: Path) -> None:
        self._recordings.append((stem, _recording()))
        self._recordings[-1][1].start()

    def stop(self) -> None:
        self._recordings[-1][1].stop()

    def finish(self) -> None:
        """Writing takes longer than a window may have to wait, so it is done at the end."""
        traces = [(stem, _export_trace(stem, recording)) for stem, recording in self._recordings]
        for stem, trace in traces:
            _tabulate(stem, trace)


def _export_trace(stem: Path, recording: Any) -> Path:
    trace = Path(f"{stem}.trace.json")
    recording.export_chrome_trace(str(trace))
    return trace


def _tabulate(stem: Path, trace: Path) -> None:
    if trace.stat().st_size > MOST_TABULATED:
        raise MeasureError(f"{trace.name} is too large for a table of its operators", remedy="profile a shorter window")
    operators = from_chrome_trace(trace, category="cpu_op")
    if not operators:
        raise MeasureError(
            f"{trace.name} has no operators: nothing in this process called torch in that window",
            remedy="choose a window in which calls are made, or another --profiler",
        )
    Path(f"{stem}.operators.txt").write_text(table(operators), encoding="utf-8")


class TorchOperators:
    """Operators by their own time, each named after the module that executed it; on a device, its time there."""

    name: ClassVar[str] = "torch"

    def prepare(self, case: Case, folder: Path) -> Case:
        """Does nothing: the model is loaded as without a profiler."""
        return case

    def record(self, loaded: Loaded, calls: RecordedCalls) -> list[list[Spent]]:
        """Makes the calls under the profiler, after one that nobody looks at: the first recording is slow."""
        from torch.profiler import record_function

        first = _recording()
        with first, record_function(_CALL):
            loaded.call(*loaded.arguments[0])
        recording = _recording(shapes=True)
        with _mark_modules(loaded.model), recording:
            for call in calls:
                with record_function(_CALL):
                    call()
        return _by_call(recording.events(), on_device=not loaded.device.startswith("cpu"))


def _by_call(events: Any, *, on_device: bool) -> list[list[Spent]]:
    """What each call spent where. An event of another thread belongs to the call that was going on."""
    begins = sorted(event.time_range.start for event in events if event.name == _CALL)
    found: list[list[Spent]] = [[] for _ in begins]
    for event in events:
        index = bisect.bisect_right(begins, event.time_range.start) - 1
        if index < 0 or event.is_user_annotation or event.name.startswith((_CALL, _MODULE)):
            continue
        own = event.self_device_time_total if on_device else event.self_cpu_time_total
        if own > 0 and str(event.device_type).endswith(".CPU"):  # kernels are in the time of what launched them
            shapes = " ".join(f"[{'x'.join(map(str, shape))}]" for shape in event.input_shapes if shape)
            name = _module_of(event) or event.name
            found[index].append(Spent(name=name, kind=event.name, shapes=shapes, seconds=own / 1e6))
    return found


def _module_of(event: Any) -> str:
    """The innermost module around an operator; "" when there is none."""
    while event is not None and not event.name.startswith(_MODULE):
        event = event.cpu_parent
    return "" if event is None else str(event.name.removeprefix(_MODULE))


@contextmanager
def _mark_modules(model: Any) -> Iterator[None]:
    """Marks where each module begins and ends. A scripted or compiled model has no modules left to mark."""
    import torch

    hooks: list[Any] = []
    has_modules = isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule)
    if has_modules and not hasattr(model, "_orig_mod"):  # which torch.compile sets
        for name, module in model.named_modules():
            hooks += _mark_module(module, name) if name else []
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _mark_module(module: Any, name: str) -> list[Any]:
    from torch.profiler import record_function

    opened: list[Any] = []

    def enter(*_: Any) -> None:
        opened.append(record_function(f"{_MODULE}{name}"))
        opened[-1].__enter__()

    def leave(*_: Any) -> None:
        opened.pop().__exit__(None, None, None)

    return [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]


def _recording(*, shapes: bool = False) -> Any:
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import profile, supported_activities

    try:
        every_thread = _ExperimentalConfig(profile_all_threads=True)
    except TypeError:
        raise MeasureError(
            "this torch records only the thread that starts its profiler", remedy="install torch 2.6 or newer"
        ) from None
    return profile(activities=supported_activities(), experimental_config=every_thread, record_shapes=shapes)
