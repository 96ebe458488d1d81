"""Whose answers the measured models must give: those of one runtime, asked first, or those in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchwright import plugins
from benchwright.errors import LoadError, OptionError, TargetError
from benchwright.events import Began, Event, Listener, Noted, Planned, Reached, nobody
from benchwright.execution import rounds
from benchwright.execution.attempt import INTERRUPTED
from benchwright.records import Case, Expected, Load, Mode, Result, Scalar, Status
from benchwright.targets import sources
from benchwright.targets.sources import GoldenRequest, Request
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.outputs.answers import KEPT

_FILES = (".npy", ".npz", ".txt")
_ISSUING = ("runtime", "device", "precision", "workers", "copies", "rate")  # params that do not change what is right
Key = tuple[str, tuple[tuple[str, Scalar], ...]]


def apply(plan: rounds.Plan, request: Request, wanted: GoldenRequest, listener: Listener = nobody) -> rounds.Plan:
    """Returns the plan with the expected outputs in its cases.

    A runtime's outputs are had now, in a run of its own that is not saved; they stay in the folder of artifacts. An
    `OptionError` says why nothing can be compared as asked.
    """
    if not wanted.source:
        _refuse_idle_tolerance(plan.cases, wanted)
        return replace(plan, cases=[_with_expected(case, wanted) for case in plan.cases])
    if not is_runtime(wanted.source):
        files = outputs_at(Path(wanted.source))
        return replace(plan, cases=[_with_expected(case, wanted, files) for case in plan.cases])
    references = _references(plan.cases, request, wanted.source)
    answers = _answers(plan, references, wanted.source, listener)
    return replace(plan, cases=[_expect_reference(case, references, answers, wanted, listener) for case in plan.cases])


def is_runtime(source: str) -> bool:
    """Whether the source of golden outputs is a runtime, not a file."""
    if Path(source).suffix in _FILES or "/" in source:
        return False
    if source in plugins.names("runtimes"):
        return True
    if Path(source).exists():
        return False
    plugins.load("runtimes", source)  # says which ones there are
    return True


def outputs_at(path: Path) -> dict[str, str]:
    """The files of outputs in a folder, or the arrays of one file, by the output's name; "" for the only one.

    A folder holds `outputs.npz`, as `--keep-outputs` leaves it, or a .npy or .txt file for each output.
    """
    path = path.absolute()
    if path.is_dir():
        if (path / KEPT).is_file():
            return outputs_at(path / KEPT)
        found = {file.stem: str(file) for file in sorted(path.iterdir()) if file.suffix in (".npy", ".txt")}
        if not found:
            raise OptionError(
                f"--golden: {path} holds no outputs", remedy=f"the folder needs {KEPT}, or NAME.npy for each output"
            )
        return found
    if not path.is_file():
        raise OptionError(
            f"--golden: there is no file {path.name} here",
            remedy="name a runtime, an .npz or .npy file, or a folder of them",
        )
    if path.suffix != ".npz":
        return {"": str(path)}
    try:
        return {name: f"{path}::{name}" for name in array_files.names(path)}
    except LoadError as error:
        raise OptionError(f"--golden: {error.message}", remedy=error.remedy) from None


# ---- what a case expects ----


def _refuse_idle_tolerance(cases: Sequence[Case], wanted: GoldenRequest) -> None:
    """Refuses a tolerance where there is nothing that it could be for."""
    if wanted.tolerance is not None and not any(case.expected and case.expected.outputs for case in cases):
        raise OptionError("--tolerance: nothing is compared", remedy="add --golden RUNTIME, or --golden FILE")


def _with_expected(case: Case, wanted: GoldenRequest, files: dict[str, str] | None = None) -> Case:
    before = case.expected or Expected()
    if case.expected is None and not files and not wanted.keep:
        return case
    tolerances = before.tolerances if wanted.tolerance is None else {"": wanted.tolerance}
    outputs = before.outputs if files is None else files
    keep = wanted.keep or before.keep
    return replace(case, expected=replace(before, outputs=outputs, tolerances=tolerances, keep=keep))


def _expect_reference(
    case: Case, references: dict[Key, Case], answers: dict[Key, Path], wanted: GoldenRequest, listener: Listener
) -> Case:
    """Returns the case with its reference's outputs as the expected ones; the reference keeps what it expects."""
    key = _key(case)
    if key not in references:
        listener(Noted(text=f"the answers of {case.name} are not compared: {wanted.source} does not load it"))
        return _with_expected(case, replace(wanted, tolerance=None))
    if case.target == references[key].target:
        return _with_expected(case, wanted)
    return _with_expected(case, wanted, outputs_at(answers[key]))


# ---- the runtime whose answers count ----


def _references(cases: Iterable[Case], request: Request, runtime: str) -> dict[Key, Case]:
    """What the runtime is to be asked: each thing that is measured once, in its own precision, however it is called."""
    wanted = {_key(case) for case in cases}
    asked = replace(
        request,
        runtimes=(runtime,),
        devices=request.devices[:1],
        precisions=("",),
        workers=(1,),
        copies=(1,),
        rates=(None,),
        listener=nobody,
    )
    try:
        planned = sources.plan(asked)
    except TargetError as error:
        raise OptionError(f"--golden {runtime}: {error.message}", remedy=error.remedy) from None
    found: dict[Key, Case] = {}
    for case in planned:
        load = Load(mode=Mode.SINGLE, timeout=case.load.timeout)
        expected = replace(case.expected or Expected(), outputs={}, keep=True)
        if _key(case) in wanted:
            found.setdefault(_key(case), replace(case, load=load, expected=expected))
    if not found:
        raise OptionError(
            f"--golden {runtime}: this runtime loads nothing of what is measured", remedy="name another runtime"
        )
    return found


def _key(case: Case) -> Key:
    """Returns the key that two cases share when they must give the same answers."""
    return case.name, tuple(sorted((name, value) for name, value in case.params.items() if name not in _ISSUING))


def _answers(plan: rounds.Plan, references: dict[Key, Case], runtime: str, listener: Listener) -> dict[Key, Path]:
    """The folder of each reference's outputs."""
    base = plan.directory.absolute() / rounds.ARTIFACTS / f"{rounds.new_run_id()}-golden-{runtime}"
    order = list(references)
    folders = {key: base / str(index) for index, key in enumerate(order)}
    asking = rounds.Plan(
        cases=list(references.values()),
        rounds=1,
        host=plan.host,
        paths=plan.paths,
        last_paths=plan.last_paths,
        folder=lambda case, number: folders[_key(case)],
        cpus=plan.cpus,
        memory=plan.memory,
        monitors=(),
        directory=plan.directory,
    )
    for result in rounds.execute(asking, None, _forward_begun(listener)).results:
        _check(result, folders[_key(result.case)], runtime)
    return folders


def _check(result: Result, folder: Path, runtime: str) -> None:
    """Raises when a reference gave no outputs."""
    if result.error is not None and result.error.kind == INTERRUPTED:
        raise KeyboardInterrupt
    if result.status is not Status.OK:
        assert result.error is not None
        raise OptionError(
            f"--golden {runtime}: this runtime gave no answer for {result.case.name}: {result.error.message}",
            remedy=result.error.remedy,
        )
    if not (folder / KEPT).is_file():
        told = next((w for w in result.warnings if w.code == "answers"), None)
        seen = told.seen if told else "this runtime gave no outputs"
        raise OptionError(f"--golden {runtime}: {seen}", remedy=told.remedy if told else "")


def _forward_begun(listener: Listener) -> Listener:
    """Lets the listener hear that something is under way; what ends there is no result of the run it waits for."""

    def tell(event: Event) -> None:
        if isinstance(event, Planned | Began | Reached):
            listener(event)

    return tell
