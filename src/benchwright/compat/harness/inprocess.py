"""Frameworks that are libraries here: the spec's model file becomes a case of the runtime, and needs no program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchwright import plugins
from benchwright.compat.harness.specs.plans import LIBRARIES, PlannedTest, Role
from benchwright.errors import TargetError
from benchwright.records import Case, Expected, Inputs, Load, Scalar, Target, Tolerance
from benchwright.targets.sources import digest_files
from benchwright.worker.runtimes import check_installed

FRAMEWORKS = LIBRARIES
USUAL_ITERATIONS = 50  # of a test that says none
_NEEDS_PROGRAM = ("accuracy", "power")
_DTYPES = {  # C's names, as specs write them
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "char": "int8",
    "unsigned char": "uint8",
}


def case(test: PlannedTest, placed: Mapping[str, Path], params: Mapping[str, Scalar]) -> Case:
    """The test in the runtime of its framework; `placed` says where its files lie. A `TargetError` says why not."""
    runtime = test.framework
    check_installed(runtime)
    if test.metric in _NEEDS_PROGRAM:
        raise TargetError(
            f"{test.place}: metric {test.metric} is told by a program, and {runtime} is a library",
            remedy="use a framework that runs a program, such as generic",
        )
    model = _model_file(test, placed)
    return Case(
        name=test.net,
        target=Target(runtime=runtime, uri=str(model)),
        params={"runtime": runtime, **params},
        inputs=_inputs(test, placed),
        load=Load(
            samples=test.iterations if test.iterations > 0 else USUAL_ITERATIONS,
            warmup=0.0 if test.warmup == 0 else None,
            loops=1,
            timeout=test.timeout,
        ),
        version=digest_files(_parts(model)),
        expected=_expected_outputs(test, placed),
    )


def wants_operators(test: PlannedTest) -> bool:
    """Whether each operator's time is asked for, as `"commands": {"onnxruntime": {"run_individual": "true"}}` does."""
    return str(test.flags.get("run_individual", "")).lower() in ("true", "1")


def _model_file(test: PlannedTest, placed: Mapping[str, Path]) -> Path:
    endings = tuple(plugins.load("runtimes", test.framework).extensions)
    files = [placed[entry.key] for entry in test.files if entry.role is Role.MODEL and entry.key in placed]
    for path in files:
        if path.suffix in endings:
            return path
    raise TargetError(
        f"{test.place}: {test.framework} loads none of the model's files: {', '.join(p.name for p in files) or 'none'}",
        remedy=f"it loads {', '.join(endings)}",
    )


def _parts(model: Path) -> list[Path]:
    """The model's file, and the weights that OpenVINO keeps in a second one; of a folder, what is in it."""
    if model.is_dir():
        return sorted(path for path in model.rglob("*") if path.is_file())
    weights = model.with_suffix(".bin")
    return [model, weights] if model.suffix == ".xml" and weights.is_file() else [model]


def _inputs(test: PlannedTest, placed: Mapping[str, Path]) -> Inputs:
    leading = {shape[0] for shape in test.shapes.values() if shape}
    return Inputs(
        shapes=dict(test.shapes),
        dtypes={name: _DTYPES.get(kind, kind.removesuffix("_t")) for name, kind in test.dtypes.items()},
        batch_size=leading.pop() if len(leading) == 1 else 1,  # inputs that disagree are no batch
        files=_files_of_role(test, placed, Role.INPUT),
    )


def _expected_outputs(test: PlannedTest, placed: Mapping[str, Path]) -> Expected | None:
    if test.metric != "error":
        return None
    golden = _files_of_role(test, placed, Role.GOLDEN)
    if not golden:
        raise TargetError(
            f"{test.place}: metric error needs `output_files` to compare with",
            remedy="name a golden file for each output",
        )
    unjudged = {"": Tolerance()}  # the older metric tells errors and calls none too large
    return Expected(outputs=golden, inputs=_files_of_role(test, placed, Role.INPUT), tolerances=unjudged)


def _files_of_role(test: PlannedTest, placed: Mapping[str, Path], role: Role) -> dict[str, str]:
    """The files of a role by the input or output that they are for."""
    found = [(entry.key, placed[entry.key]) for entry in test.files if entry.role is role and entry.key in placed]
    return {key.partition(".")[2]: str(path) for key, path in found}
