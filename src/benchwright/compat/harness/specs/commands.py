"""What a test runs: its own commands, or those that its shapes and flags mean in the older program's words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from benchwright.compat.harness.specs.loader import merge_mappings

PROGRAM = "{program}"
_DOUBLED = re.compile(r"\{program\}(\s+\{program\})+")


def written_commands(test: Mapping[str, Any]) -> tuple[str, ...]:
    """The commands that the test says in words; none when they are to be made from its shapes and flags."""
    if isinstance(test.get("commands"), list):
        return tuple(str(command) for command in test["commands"])
    if test.get("command"):
        return (str(test["command"]),)
    if "arguments" in test:
        return (f"{PROGRAM} {test['arguments']}",)
    return ()


def flags(test: Mapping[str, Any], model: Mapping[str, Any], framework: str) -> dict[str, Any]:
    """The map of flags for the framework: the test's before the model's."""
    found: dict[str, Any] = {}
    for source in (test, model):
        commands = source.get("commands")
        mine = commands.get(framework) if isinstance(commands, Mapping) else None
        if isinstance(mine, Mapping):
            found, _ = merge_mappings(found, mine)
    return found


def is_seed(test: Mapping[str, Any]) -> bool:
    """Whether the test is written as in early 2018: no command in words, and files as plain paths."""
    if written_commands(test):
        return False
    files = [value for group in ("input_files", "output_files") for value in _values(test.get(group))]
    return not any(isinstance(value, Mapping) for value in files)


def commands(test: Mapping[str, Any], model: Mapping[str, Any], framework: str) -> tuple[str, ...]:
    """The main commands with their placeholders, `command_args` of the model among them."""
    found = [_DOUBLED.sub(PROGRAM, command) for command in written_commands(test)]
    found = found or [generate_command(test, model, framework)]
    if framework == "caffe2" and test.get("metric") == "error" and test.get("output_files"):
        found = [_add_output_folder(command) for command in found]
    extra = str(model.get("command_args") or "").strip()
    return tuple(f"{command.rstrip()} {extra}" if extra and PROGRAM in command else command for command in found)


def generate_command(test: Mapping[str, Any], model: Mapping[str, Any], framework: str) -> str:
    """The command of a test that says only shapes, files and flags."""
    more = flags(test, model, framework)
    if framework == "tflite":
        return " ".join([*_tflite(test), *(f"--{name}={_word(value)}" for name, value in more.items())])
    words = [PROGRAM, *_model_words(test, model, framework)]
    if framework in ("caffe2", "pytorch"):
        words += _input_words(test) + _output_words(test)
    for name, value in more.items():
        words += [f"--{name}", _word(value)]
    return " ".join(words)


def _model_words(test: Mapping[str, Any], model: Mapping[str, Any], framework: str) -> list[str]:
    if framework not in ("caffe2", "pytorch"):
        return []
    files = model.get("files") or {}
    counts = ["--warmup", str(test.get("warmup", 0)), "--iter", str(test.get("iter", 1))]
    if framework == "caffe2" or "predict" in files:
        init = ["--init_net", "{files.init}"] if "init" in files else []
        net = ["--net", "{files.predict}"]
        return [*init, *net, *counts] if is_seed(test) else [*net, *counts, *init]
    first = "model" if "model" in files or not files else next(iter(files))
    return ["--model", f"{{files.{first}}}", *counts]


def _input_words(test: Mapping[str, Any]) -> list[str]:
    inputs = test.get("inputs") or {}
    files = test.get("input_files") or {}
    names = list(files or inputs)
    if not names:
        return []
    if files:
        found = ["--input_file", ",".join(f"{{input_files.{name}}}" for name in names)]
    else:
        found = ["--input_dims", _word(";".join(_dims(one) for one in inputs.values()))]
    found += ["--input", _word(",".join(names))]
    first = next(iter(inputs.values()), None)
    return [*found, "--input_type", _word(first["type"])] if first else found


def _output_words(test: Mapping[str, Any]) -> list[str]:
    outputs = test.get("output_files") or {}
    if not outputs:
        return []
    return ["--output", _word(",".join(outputs)), "--text_output", "true", "--output_folder", "{TGTDIR}"]


def _tflite(test: Mapping[str, Any]) -> list[str]:
    inputs = test.get("inputs") or {}
    found = [
        PROGRAM,
        "--graph={files.graph}",
        f"--warmup_runs={test.get('warmup', 0)}",
        f"--num_runs={test.get('iter', 1)}",
    ]
    if inputs:
        found.append(f"--input_layer={_word(','.join(inputs))}")
        found.append(f"--input_layer_shape={_word(':'.join(_dims(one) for one in inputs.values()))}")
    return found


def _add_output_folder(command: str) -> str:
    """Outputs that nobody says where to write are written where they are looked for."""
    said = PROGRAM not in command or "--output_folder" in command or "{TGTDIR}" in command
    return command if said else f"{command.rstrip()} --output_folder {{TGTDIR}}"


def _dims(one: Mapping[str, Any]) -> str:
    return ",".join(str(size) for size in one["shapes"][0])


def _word(value: Any) -> str:
    """A value as one word of a command; placeholders in it stay readable."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if re.fullmatch(r"[\w@%+=:,./{}-]+", text, re.ASCII) else shlex.quote(text)


def _values(files: Any) -> list[Any]:
    if isinstance(files, Mapping):
        files = list(files.values())
    if not isinstance(files, list):
        return []
    return [item for value in files for item in (value if isinstance(value, list) else [value])]
