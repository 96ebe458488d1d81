"""TensorFlow's profiler: one folder that TensorBoard opens, with a run in it for each window."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

from benchwright.errors import MeasureError
from benchwright.targets.signatures.protobuf import ProtobufMessage
from benchwright.worker.profilers import Profiler

FOLDER = "profiler_data"  # what `tensorboard --logdir` is given
_RUNS = Path("plugins", "profile")
_HOST_PLANES = ("/host:CPU", "/device:")  # where operators are; other planes tell of the machine


class TensorFlowProfiler(Profiler):
    """Records operators on the host and on devices, from whichever thread they are called."""

    name: ClassVar[str] = "tensorflow"
    requires: ClassVar[str] = "tensorflow"
    module: ClassVar[str] = "tensorflow"

    def __init__(self) -> None:
        self._folder, self._window = Path(), ""

    def ready(self) -> None:
        import tensorflow.profiler.experimental  # noqa: F401 - seconds, if the measured code has not done it

    def start(self, stem: Path) -> None:
        import tensorflow

        self._folder = stem.parent / FOLDER
        self._window = stem.name.removeprefix(f"{self.name}.")
        tensorflow.profiler.experimental.start(str(self._folder))

    def stop(self) -> None:
        import tensorflow

        before = _runs(self._folder)
        tensorflow.profiler.experimental.stop()
        written = _runs(self._folder) - before
        if not written:
            raise MeasureError(f"TensorFlow wrote no trace of {self._window}")
        for run in written:  # a run is named by the second it ended in, which two short windows may share
            named = run.rename(run.with_name(f"{run.name}.{self._window}"))
            if not any(events_in(trace.read_bytes(), most=1) for trace in named.glob("*.xplane.pb")):
                raise MeasureError(
                    f"the trace of {self._window} has no events: no operator ran in that window",
                    remedy="choose a window in which TensorFlow computes",
                )


def _runs(folder: Path) -> set[Path]:
    return set((folder / _RUNS).glob("*"))


def events_in(xspace: bytes, *, most: int | None = None) -> int:
    """How many events the planes of hosts and devices hold, read without TensorFlow's or protobuf's classes.

    Counts up to `most`: reading a whole trace takes seconds, and another window may be waiting.

    The field numbers are those of XSpace (planes 1), XPlane (name 2, lines 3) and XLine (events 4). A `DecodeError`
    says where a trace was cut.
    """
    return sum(1 for _ in islice(_events(ProtobufMessage.of_file(memoryview(xspace))), most))


def _events(xspace: ProtobufMessage) -> Iterator[ProtobufMessage]:
    for plane in xspace.parts(1):
        if "".join(map(str, plane.parts(2))).startswith(_HOST_PLANES):
            for line in plane.parts(3):
                yield from line.parts(4)
