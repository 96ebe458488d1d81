"""Model indexes: which files hold a model for which batch size. An index is a dict, or the path of its JSON."""

from __future__ import annotations

import copy as copying
import hashlib
import itertools
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchwright.errors import DecodeError, OptionError, TargetError, did_you_mean
from benchwright.schema.parsing import json_value
from benchwright.system import streams, whole_files

Index = dict[str, Any]
Given = Mapping[str, Any] | str | os.PathLike[str]
_Carry = Callable[[Path, Path], Any]

VERSION = "1"
ENDING = ".json"  # by which the path of an index is known
DEFAULT_CAST = "none"  # the numbers of the model are as they were given
DEFAULTS: Mapping[str, Any] = {
    "filename": "",
    "batch_size": 1,
    "pipeline_size": 1,
    "performance_level": 3,
    "cast_mode": DEFAULT_CAST,
    "compile_s": None,
    "status": "finished",
    "input_idx": 0,
}
_VERSION_KEYS = ("version", "NeuronPerf_version")
_FURTHER = ("error",)  # keys a config may have besides
_COMPANIONS: Mapping[str, str] = {".xml": ".bin"}  # what a model keeps its weights in, beside it and under its name


def create(
    filename: str | os.PathLike[str],
    input_idx: int = 0,
    batch_size: int = 1,
    pipeline_size: int = 1,
    cast_mode: str = DEFAULT_CAST,
    compile_s: float | None = None,
    *,
    model_name: str | None = None,
    performance_level: int = 3,
    status: str = "finished",
) -> Index:
    """An index of one model. Its name is the file's unless given.

    `input_idx` is the number of the input that the model is fed when `benchmark` is given a list of them.
    """
    if isinstance(input_idx, bool) or not isinstance(input_idx, int) or input_idx < 0:
        raise OptionError(
            f"input_idx: {input_idx!r} is not the number of an input, from 0",
            remedy="name the model with model_name=...",
        )
    config = {
        **DEFAULTS,
        "filename": os.fspath(filename),
        "input_idx": input_idx,
        "batch_size": batch_size,
        "pipeline_size": pipeline_size,
        "cast_mode": cast_mode,
        "performance_level": performance_level,
        "compile_s": compile_s,
        "status": status,
    }
    name = model_name or Path(filename).stem
    return {"version": VERSION, "model_name": name, "model_configs": [config]}


def append(*indexes: Given) -> Index:
    """One index with the configs of all in order; of exact duplicates one, with a warning. The first gives the name."""
    if not indexes:
        raise OptionError("append needs an index", remedy="give at least one")
    loaded = [_as_index(index) for index in indexes]
    configs: list[dict[str, Any]] = []
    for config in (config for index in loaded for config in index["model_configs"]):
        if config in configs:
            warnings.warn(f"a duplicate of {config['filename']} was left out of the index", stacklevel=2)
        else:
            configs.append(dict(config))
    return {**loaded[0], "model_configs": configs}


def filter(index: Given, **wanted: Any) -> Index:  # noqa: A001 - the name its users know
    """The index with the configs whose values are equal, or in the list given; None filters nothing.

    A key may stand in the plural: `batch_sizes=[1, 8]` is `batch_size=[1, 8]`.
    """
    whole, asked = _as_index(index), dict[str, Any]()
    known = {*DEFAULTS, *_FURTHER, *(key for config in whole["model_configs"] for key in config)}
    for key, value in wanted.items():
        name = key if key in known else key.removesuffix("s")
        if name not in known:
            raise OptionError(f"filter: no config has {key!r}", remedy=did_you_mean(key, known))
        if value is not None:
            asked[name] = value
    kept = [config for config in whole["model_configs"] if all(_fits(config.get(k), v) for k, v in asked.items())]
    return {**whole, "model_configs": kept}


def save(
    index: Given, filename: str | os.PathLike[str] | None = None, root_dir: str | os.PathLike[str] | None = None
) -> str:
    """Writes the index as JSON, below `root_dir` when given, and returns the file's name.

    Unless a name is given it tells the content, so that the index of another model is not overwritten.
    """
    whole = _as_index(index)
    text = json.dumps(whole, indent=2) + "\n"
    path = Path(root_dir or "", filename or _generated_name(whole["model_name"], text))
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_files.write_text(path, text)
    return str(path)


def _generated_name(model_name: str, text: str) -> str:
    name = re.sub(r"[^\w.+-]", "_", model_name) or "model"
    return f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}{ENDING}"


def load(path: str | os.PathLike[str]) -> Index:
    """The index in a file; a key that is missing in a config takes its default."""
    try:
        told = json_value(streams.read_text(Path(path)), finite=False)
    except OSError as error:
        raise TargetError(f"{os.fspath(path)}: {error.strerror or error}") from None
    except ValueError as error:
        raise DecodeError(f"{os.fspath(path)}: {error}") from None
    return _complete_index(told, os.fspath(path))


def copy(old_index: Given, new_index: str, new_dir: str | os.PathLike[str]) -> str:
    """Copies the index and the files it names into a folder, and returns the new index's file name.

    No file in the folder is overwritten: a model whose name is taken there gets a number behind its name.
    """
    return _carry_index(old_index, new_index, new_dir, shutil.copy2)


def move(old_index: Given, new_index: str, new_dir: str | os.PathLike[str]) -> str:
    """Moves the files that the index names into a folder, and its own file, and returns the new index's file name.

    No file in the folder is overwritten, as with `copy`.
    """
    made = _carry_index(old_index, new_index, new_dir, shutil.move)
    if not isinstance(old_index, Mapping) and Path(old_index).resolve() != Path(made).resolve():
        Path(old_index).unlink()
    return made


def delete(index: Given) -> None:
    """Deletes the files that the index names, and its own file. What is gone already is no error."""
    if not isinstance(index, Mapping) and not Path(index).exists():
        return
    for model in _files(index).values():
        for path in _with_companions(model):
            path.unlink(missing_ok=True)
    if not isinstance(index, Mapping):
        Path(index).unlink(missing_ok=True)


def find(config: Mapping[str, Any], index: Given) -> Path:
    """Where the file of a config is: as it is named, or beside the index."""
    named = Path(str(config["filename"]))
    if named.exists() or named.is_absolute() or isinstance(index, Mapping):
        return named
    beside = Path(index).parent / named
    return beside if beside.exists() else named


def _carry_index(old: Given, new_name: str, new_dir: str | os.PathLike[str], carry: _Carry) -> str:
    whole, files, folder = copying.deepcopy(_as_index(old)), _files(old), Path(new_dir)
    folder.mkdir(parents=True, exist_ok=True)
    carried: dict[Path, Path] = {}
    for config in whole["model_configs"]:
        if config["filename"] in files:
            model = files[config["filename"]]
            where = model.parent.resolve() / model.name  # however each config spells it, a file is carried once
            if where not in carried:
                carried[where] = _carry_model(where, folder, carry)
            config["filename"] = str(carried[where])
    file = Path(new_name)
    whole["model_name"] = file.stem if file.suffix == ".json" else new_name
    return save(whole, file.name if file.suffix == ".json" else f"{new_name}.json", folder)


def _carry_model(model: Path, folder: Path, carry: _Carry) -> Path:
    """Carries a model and its companions into the folder, under its name or the first free numbered one."""
    files = _with_companions(model)
    names = itertools.chain([model.stem], (f"{model.stem}-{number}" for number in itertools.count(1)))
    stem = next(name for name in names if all(_is_free(folder / f"{name}{f.suffix}", f) for f in files))
    for file in files:
        target = folder / f"{stem}{file.suffix}"
        if not target.exists():
            carry(file, target)
    return folder / f"{stem}{model.suffix}"


def _is_free(target: Path, file: Path) -> bool:
    """Whether nothing is lost when the file is put there; it may be there already."""
    return target.samefile(file) if target.exists() else not target.is_symlink()


def _with_companions(model: Path) -> list[Path]:
    beside = model.with_suffix(_COMPANIONS.get(model.suffix, model.suffix))
    return [model, beside] if beside != model and beside.is_file() else [model]


def _files(index: Given) -> dict[str, Path]:
    """The files that exist, by the names that configs have for them."""
    found = {str(c["filename"]): find(c, index) for c in _as_index(index)["model_configs"] if c["filename"]}
    return {name: path for name, path in found.items() if path.is_file()}


def _as_index(index: Given) -> Index:
    return _complete_index(index, "index") if isinstance(index, Mapping) else load(index)


def _complete_index(told: Any, where: str) -> Index:
    """Adds defaults to each config of an index; keys of other tools are kept in the configs."""
    if not isinstance(told, Mapping) or not isinstance(told.get("model_configs"), list):
        raise DecodeError(f"{where}: not a model index", remedy="it needs a list model_configs")
    configs = []
    for number, config in enumerate(told["model_configs"]):
        if not isinstance(config, Mapping):
            raise DecodeError(f"{where}: model_configs[{number}] is not an object")
        configs.append({**DEFAULTS, **config})
    version = next((str(told[key]) for key in _VERSION_KEYS if key in told), VERSION)
    return {"version": version, "model_name": str(told.get("model_name") or ""), "model_configs": configs}


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Iterable) and not isinstance(wanted, str):
        return value in list(wanted)
    return bool(value == wanted)
