"""The winner of a race as something to use: the arguments of `benchwright run`, settings, a spec."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchwright.analysis.races import RacedCell, RaceStory
from benchwright.errors import OptionError
from benchwright.records import Arrivals, Case, Inputs, Load, Mode, Objective, Run, Scalar
from benchwright.records.races import RaceTerms, show_setting
from benchwright.system import whole_files
from benchwright.system.masking import mask_arguments
from benchwright.targets.sources import Request

TOML, SPECS = ".toml", (".yaml", ".yml", ".json")
_MODELS = ("onnxruntime", "openvino", "litert", "torch")  # runtimes whose models a spec can describe


def shared_arguments(
    request: Request, options: Mapping[str, Sequence[Scalar]], objectives: Sequence[Objective], more: Sequence[str] = ()
) -> tuple[str, ...]:
    """The arguments of `benchwright run` that all cells of a race have in common, without its targets.

    `more` are those that no request holds, such as the CPUs and the price of the machine. Secrets are masked.
    """
    single = {
        "--runtime": request.runtimes,
        "--device": _unless(request.devices, ["cpu"]),
        "--numeric-precision": _unless(request.precisions, [""]),
        "--batch-size": _unless(request.batch_sizes, [1]),
        "--workers": _unless(request.workers, [1]),
        "--copies": _unless(request.copies, [1]),
        "--rate": _unless(request.rates, [None]),
        "--processes": request.processes,
        "--launcher": [request.launcher] if request.launcher else [],
    }
    found = [word for flag, values in single.items() if len(values) == 1 for word in (flag, show_setting(values[0]))]
    fixed = {**request.options, **{name: values[0] for name, values in options.items() if len(values) == 1}}
    found += _pairs(
        "--option", {name: value for name, value in fixed.items() if name not in options or len(options[name]) == 1}
    )
    found += _pairs("--param", {name: values[0] for name, values in request.params.items() if len(values) == 1})
    found += [*_input_arguments(request.inputs), *_load_arguments(request.load)]
    found += [word for one in objectives for word in ("--objective", _write_objective(one))]
    return mask_arguments((*found, *more, *(("--", *request.command) if request.command else ())))


def _unless(values: Sequence[Any], usual: Sequence[Any]) -> Sequence[Any]:
    return () if list(values) == list(usual) else values


def _pairs(flag: str, values: Mapping[str, Scalar]) -> list[str]:
    return [word for name, value in values.items() for word in (flag, f"{name}={show_setting(value)}")]


def _input_arguments(inputs: Inputs) -> Iterator[str]:
    usual = Inputs()
    if inputs.source != usual.source:
        yield from ("--input", inputs.source)
    for name, shape in inputs.shapes.items():
        text = "x".join(map(str, shape))
        yield from ("--shape", f"{name}:{text}" if name else text)
    for name, kind in inputs.dtypes.items():
        yield from ("--dtype", f"{name}:{kind}" if name else kind)
    for name, values in inputs.values.items():
        yield from ("--value", f"{name}={','.join(map(show_setting, values))}")
    for name, output in inputs.feed_back.items():
        yield from ("--feed-back", f"{name}={output}" if output else name)
    for flag, value, common in (("--input-count", inputs.count, usual.count), ("--seed", inputs.seed, usual.seed)):
        if value != common:
            yield from (flag, str(value))


def _load_arguments(load: Load) -> Iterator[str]:
    if load.mode is Mode.OFFLINE and load.samples is not None:
        yield from ("--offline", str(load.samples))
    elif load.samples is not None:
        yield from ("--samples", str(load.samples))
    if load.mode is Mode.MULTISTREAM:
        yield from ("--streams", str(load.streams))
    if load.arrivals is Arrivals.CONSTANT:
        yield from ("--arrivals", "constant")
    if load.trace:
        yield from ("--trace", load.trace)
    # Not the duration: processes of a race are short, and those of a run are as long as usual.
    for flag, seconds in (("--warmup", load.warmup), ("--timeout", load.timeout)):
        if seconds is not None:
            yield from (flag, f"{show_setting(seconds)}s")
    if load.loops:
        yield from ("--loops", str(load.loops))


def _write_objective(one: Objective) -> str:
    unit = one.unit or ("s" if one.metric.startswith(("latency", "service", "ttf", "itl", "tpot", "e2e")) else "")
    name = one.metric
    if not unit:
        from benchwright.units.objectives import unit_of

        unit = {"B": "B", "s": "s", "/s": "/s", "J": "J", "%": "%"}.get(unit_of(name), "")
    return f"{name}{one.relation}{one.bound:.12g}{unit}"


# ---- files ----

_SIGN = "benchwright tune"  # in what a race wrote, which another may replace


def check_export(path: Path) -> None:
    """Refuses a file that no settings can be written to, before anything is measured."""
    if path.suffix not in (TOML, *SPECS):
        raise OptionError(
            f"--export: {path.name} ends in none of {', '.join((TOML, *SPECS))}",
            remedy="config.toml for benchwright.toml, config.yaml for a spec",
        )
    if not path.absolute().parent.is_dir():
        raise OptionError(f"--export: there is no folder {path.absolute().parent}", remedy="make it first")
    if path.exists() and not _is_ours(path):
        raise OptionError(f"--export: {path} is there, and no race wrote it", remedy="name another file")


def write_export(path: Path, story: RaceStory, cell: RacedCell) -> None:
    """Writes the settings of a cell: for `benchwright.toml`, or as a spec of its own."""
    assert cell.row is not None
    if path.suffix == TOML:
        whole_files.write_text(path, settings_toml(story.terms, cell.number, story.run.id, path.absolute().parent))
    else:
        whole_files.write_text(path, spec_text(story.run, cell.row.case))


def settings_toml(terms: RaceTerms, cell: int, run: str, folder: Path) -> str:
    """The table `[run]` of a `benchwright.toml` in `folder`: `benchwright run` there then measures the cell."""
    words = list(terms.repeat(cell)[2:])
    if "--" in words:
        raise OptionError(
            "--export: benchwright.toml names targets, and a command is none", remedy="put it into a task file"
        )
    targets = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
    options: dict[str, list[str]] = {}
    rest = words[len(targets) :]
    for flag, value in zip(rest[::2], rest[1::2], strict=True):
        options.setdefault(flag.removeprefix("--"), []).append(value)
    lines = [f"# chosen by `{_SIGN}` in run {run}: {terms.label(cell)}", "[run]"]
    lines += [f"targets = {json.dumps([_place(target, folder) for target in targets], ensure_ascii=False)}"]
    lines += ["", "[run.options]"] if options else []
    lines += [f"{name} = {_toml(values)}" for name, values in options.items()]
    return "\n".join(lines) + "\n"


def _place(target: str, folder: Path) -> str:
    """A target as it is named from a folder: a path changes, other targets do not."""
    file, colons, name = target.partition("::")
    return f"{os.path.relpath(file, folder)}{colons}{name}" if Path(file).exists() else target


def _is_ours(path: Path) -> bool:
    try:
        return path.is_file() and _SIGN in path.read_text(encoding="utf-8")[:4096]
    except (OSError, UnicodeDecodeError):
        return False


def _toml(values: Sequence[str]) -> str:
    """A value of a flag, or several of one that is repeated; whole numbers without quotes."""
    texts = [word if word.isascii() and word.isdigit() else json.dumps(word, ensure_ascii=False) for word in values]
    return texts[0] if len(texts) == 1 and "=" not in values[0] else f"[{', '.join(texts)}]"


def spec_text(run: Run, case: Case) -> str:
    """A spec of the model with the settings of a case; YAML and JSON alike, for JSON is YAML."""
    if case.target.runtime not in _MODELS or not Path(case.target.uri).is_file():
        raise OptionError(
            f"--export: {case.name} is not a model file, which a spec is about", remedy="write --export config.toml"
        )
    test: dict[str, Any] = {"name": "tuned", "batch_sizes": [case.inputs.batch_size], "devices": [case.target.device]}
    bounds = run.race.bounds if run.race else ()
    if bounds:
        test["objective"] = [
            _write_objective(Objective(metric=b.metric, relation=b.relation, bound=b.limit, unit=b.unit))
            for b in bounds
        ]
    file = Path(case.target.uri)
    spec = {
        "benchwright": 1,
        "model": {
            "name": file.stem,
            "description": f"chosen by `{_SIGN}` in run {run.id}",
            "files": {file.suffix[1:]: str(file)},
        },
        "runtimes": {case.target.runtime: {"options": dict(case.target.options)}},
        "tests": [test],
        "tags": [f"tuned-{run.id}"],
    }
    return json.dumps(spec, indent=2, ensure_ascii=False) + "\n"
