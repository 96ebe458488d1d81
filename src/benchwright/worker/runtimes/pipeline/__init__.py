"""A model with the user's own code around it: what sets it up, what comes before each call and what follows."""

from __future__ import annotations

from typing import ClassVar

from benchwright.errors import TargetError
from benchwright.records import Case, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.options import refuse_unknown

OBJECT = "object"  # the inner runtime of what is constructed and called
INNER = "inner."  # begins the names of options that are the inner runtime's own
OPTIONS = frozenset(
    {
        *("inner", "env_setup", "setup", "preprocess", "postprocess", "config"),
        *("load", "dataset_loader", "data", "batched", "loop", "target", "evaluate", "devices_per_copy", "devices"),
    }
)


class ImportedFarEnoughError(TargetError):
    """A script that measures itself at its top level was imported up to there: what it names so far is all it takes."""

    def __init__(self) -> None:
        super().__init__("a benchmark was asked for while its file was being imported")


class Pipeline:
    """The inner runtime's target, with functions by reference (`file.py::name`, `module:name`) around its call.

    Options: `inner` names the runtime, or `object`; `inner.NAME` is an option of its own. `env_setup` is called with
    the copy's number and `config` (JSON) before the model is loaded, `setup` also with the model after that.
    `preprocess` makes the model's arguments: a tuple is several, a mapping names them, all else is one. `postprocess`
    gets the output. `load` makes the model of the target's file and a device's number, in place of a runtime. `data` is
    `examples` (inputs are a folder of examples) or `dataset` (a reference), which `loop` begins anew at its end and
    `dataset_loader` makes batches of; with `batched` both are a data set, whose single items are put together.
    `target` is the column of a data set that is no input.
    """

    name: ClassVar[str] = "pipeline"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses unknown options; those of the inner runtime are its own business."""
        refuse_unknown([name for name in target.options if not name.startswith(INNER)], OPTIONS, "pipeline")

    def load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.pipeline.calls import (
            PipelineLoader,  # numpy comes with it, which the parent does without
        )

        self.check(case.target)
        return PipelineLoader(case).load()
