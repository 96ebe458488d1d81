"""A spec's words as records: inputs under the names that a runtime knows, golden outputs, a program's pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.records import Expected, Inputs, Load, Tolerance
from benchwright.targets.specs import passes
from benchwright.targets.specs.definition import RuntimeEntry, Shapes, Spec, SpecFile, SpecTest

Place = Callable[[SpecFile], Path]  # where a file of the spec lies on this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeNames:
    """What one runtime calls the spec's inputs and outputs, where that differs."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @classmethod
    def of_file(cls, file: SpecFile, entry: RuntimeEntry | None) -> RuntimeNames:
        """The names that the file gives, with those of the runtime's entry in front."""
        own_inputs, own_outputs = (entry.inputs, entry.outputs) if entry else ({}, {})
        return cls(inputs={**file.inputs, **own_inputs}, outputs={**file.outputs, **own_outputs})


def inputs_of(spec: Spec, shapes: Shapes, names: RuntimeNames, asked: Inputs, place: Place) -> Inputs:
    """What a call is given: the test's shapes before the model's, and what was asked for before both."""
    own = {name: names.inputs.get(name, name) for name in spec.inputs}
    given = {own.get(name, name): shape for name, shape in asked.shapes.items()}
    stated = {} if "" in given else shapes_of(spec, shapes)
    dtypes = {own[name]: one.dtype for name, one in spec.inputs.items() if one.dtype and "" not in asked.dtypes}
    mine = spec.inputs if asked.source == "random" else {}
    return replace(
        asked,
        shapes={own[name]: shape for name, shape in stated.items()} | given,
        dtypes=dtypes | {own.get(name, name): dtype for name, dtype in asked.dtypes.items()},
        ranges={own[name]: one.range for name, one in mine.items() if one.range},
        files={own[name]: str(place(one.file)) for name, one in mine.items() if one.file},
        names={theirs: name for name, theirs in own.items() if theirs != name},
    )


def shapes_of(spec: Spec, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """The shape of each input that has one: the test's, else the model's."""
    return {name: one.shape for name, one in spec.inputs.items() if one.shape is not None} | dict(shapes)


def batch_of(shapes: Shapes) -> int:
    """The batch size that shapes state: their leading dimension where all agree, else one."""
    leading = {shape[0] for shape in shapes.values() if shape}
    return leading.pop() if len(leading) == 1 else 1


def without_batch(shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """The same shapes for any batch size, where their leading dimension is one."""
    if batch_of(shapes) == 1:
        return dict(shapes)
    return {name: (1, *shape[1:]) if shape else shape for name, shape in shapes.items()}


def expected_of(
    spec: Spec, test: SpecTest, shapes: Shapes, batch: int, names: RuntimeNames, place: Place
) -> Expected | None:
    """Returns the expected outputs of the model.

    Golden files belong to the model's own shapes: other shapes and batch sizes are not compared with them, unless the
    test asks for it.
    """
    if not spec.outputs or test.golden is False:
        return None
    own = shapes_of(spec, {})
    fits = shapes_of(spec, shapes) == own and batch == batch_of(own)
    files = {name: one.golden for name, one in spec.outputs.items() if one.golden and (fits or test.golden)}
    return Expected(
        outputs={
            name: f"{place(file)}::{file.member}" if file.member else str(place(file)) for name, file in files.items()
        },
        tolerances={name: one.tolerance for name, one in spec.outputs.items() if one.tolerance != Tolerance()},
        names={name: theirs for name, theirs in names.outputs.items() if theirs != name},
    )


def load_of(test: SpecTest, asked: Load) -> Load:
    """How calls are issued: what was asked for, and where nothing was, what the test says."""
    stops = asked.samples or asked.duration or asked.once or asked.precision
    return replace(
        asked,
        samples=asked.samples if stops else test.iterations,
        duration=asked.duration if stops else test.duration,
        warmup=test.warmup if asked.warmup is None else asked.warmup,
        timeout=test.timeout if asked.timeout is None else asked.timeout,
        objectives=asked.objectives or test.objectives,
    )


def pass_of(
    spec: Spec, test: SpecTest, shapes: Shapes, batch: int, entry: RuntimeEntry, load: Load, place: Place
) -> passes.Pass:
    """The program that prints result rows, with everything around it. `load` says how often and how long."""
    stated = {name: (batch, *shape[1:]) for name, shape in shapes_of(spec, shapes).items() if shape}
    words = {
        **({"iterations": load.samples, "iter": load.samples} if load.samples else {}),
        "batch_size": batch,
        **{f"shapes.{name}": ",".join(map(str, shape)) for name, shape in stated.items()},
        **test.placeholders,
    }
    one = passes.Pass(
        framework="generic",
        metric="delay",
        commands=entry.commands,
        program=str(place(entry.program)) if entry.program else "",
        files=tuple(
            passes.PassFile(key=f"files.{key}", name=file.name, path=str(place(file)))
            for key, file in spec.files.items()
        ),
        model={"name": spec.name},
        test={"identifier": test.name or spec.name},
        tokens={name: _text(value) for name, value in words.items()},
        iterations=load.samples or -1,
        env=entry.env,
    )
    return one if load.timeout is None else replace(one, timeout=load.timeout)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
