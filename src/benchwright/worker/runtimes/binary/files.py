"""Where a pass's files and programs lie on a device, and what its placeholders therefore stand for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchwright.errors import LoadError
from benchwright.machine.devices import Device
from benchwright.targets.specs import placeholders
from benchwright.targets.specs.passes import Pass, PassFile
from benchwright.worker.runtimes.binary.words import PlaceholderValues

LIBRARIES = "LD_LIBRARY_PATH"


class DeviceFiles:
    """The files of one pass: pushed to `device`; `host` is this machine, with a folder for what is made on the way."""

    def __init__(self, one: Pass, device: Device, host: Device) -> None:
        self._pass, self._device, self._host = one, device, host
        self._placed: dict[str, Path] = {}  # name on the device -> what lies there
        self._programs: dict[str, str] = {}  # name -> where it is on the device
        self._users: dict[str, str] = {}  # where a program is on the device -> where the user has it

    def push_programs(self) -> None:
        """Pushes the programs that the main commands name; others stay here. A `LoadError` when one is missing.

        On this machine a program is run where it lies, so that it finds what lies beside it.
        """
        is_here = self._device.about.kind == "host"
        for name, path in {"program": self._pass.program, **self._pass.programs}.items():
            if path and any(f"{{{name}}}" in command for command in self._pass.commands):
                if not Path(path).is_file():
                    raise LoadError(f"there is no program {path}", remedy="check what built it, or its path")
                runs = is_here and os.access(path, os.X_OK)
                there = path if runs else self._push(Path(path), Path(path).name, executable=True)
                self._programs[name], self._users[there] = there, path

    def push_model(self, names: PlaceholderValues) -> None:
        """Pushes what stays the same in every repeat: the model's files, libraries, and folders for outputs."""
        self._push_all(self._pass.files, names)
        for library in self._pass.libraries:
            self._push(Path(library), Path(library).name)
        for file in self._pass.output_files:
            self._make_room(self.name(file, names))

    def push_inputs(self, names: PlaceholderValues) -> None:
        """Pushes the input files of the test to the device."""
        self._push_all(self._pass.input_files, names)

    def forget_outputs(self, names: PlaceholderValues) -> None:
        """Removes the outputs of an earlier repeat from the device: they must not pass for this one's."""
        for file in self._pass.output_files:
            name = self.name(file, names)
            if not name.startswith("/"):
                self._device.remove(name)

    def names(self, index: int, *, on_device: bool, pulled: Mapping[str, Path] | None = None) -> PlaceholderValues:
        """What placeholders stand for in a command that runs there, or here."""
        one, host = self._pass, self._host.folder
        root = os.environ.get("FAIPEPROOT", "")
        names = PlaceholderValues(
            tokens={"INDEX": str(index), **({"FAIPEPROOT": root} if root else {}), **one.tokens},
            places=self._places(host),
            test=one.test,
            model=one.model,
            programs={"program": one.program, **one.programs, **(self._programs if on_device else {})},
        )
        outputs = self._paths(one.output_files, names, on_device=True)
        brought = {key: str(path) for key, path in (pulled or {}).items()}
        return replace(
            names,
            test_files={**self._paths(one.input_files, names, on_device), **outputs, **brought},
            model_files=self._paths(one.files, names, on_device),
        )

    def with_step_files(self, names: PlaceholderValues, files: tuple[PassFile, ...]) -> PlaceholderValues:
        """The same with the files of a step, which lie where they are unless one is a program that cannot be run."""
        more = {file.key: self._step_file(file, names) for file in files}
        return replace(names, test_files={**names.test_files, **more})

    def env(self, names: PlaceholderValues) -> dict[str, str]:
        """The program's variables; libraries that were pushed are found."""
        env = {name: fill_tokens(value, names) for name, value in self._pass.env.items()}
        if self._pass.libraries:
            before = env.get(LIBRARIES) or (os.environ.get(LIBRARIES) if self._device.about.kind == "host" else "")
            env[LIBRARIES] = f"{self._device.folder}:{before}" if before else self._device.folder
        return env

    def name_for_user(self, argv: list[str]) -> list[str]:
        """A command as the user would know it: with the programs where the user has them."""
        return [self._users.get(word, word) for word in argv]

    def name(self, file: PassFile, names: PlaceholderValues) -> str:
        """What a file is called on the device: below its folder, or where the spec says."""
        name = fill_tokens(file.name, names)
        inside = f"{self._device.folder}/"
        return name.removeprefix(inside).lstrip("/") if name.startswith(inside) else name

    def _places(self, host: str) -> dict[str, str]:
        device = self._device
        found = {"TGTDIR": f"{device.folder}/", "HOSTDIR": host, "TEMPDIR": host, "DEVICEHASH": device.about.serial}
        return {**found, "BUILDDIR": str(Path(self._pass.program).parent)} if self._pass.program else found

    def _paths(self, files: tuple[PassFile, ...], names: PlaceholderValues, on_device: bool) -> dict[str, str]:
        found = {}
        for file in files:
            name = self.name(file, names)
            there = name if name.startswith("/") else f"{self._device.folder}/{name}"
            found[file.key.removeprefix("test.")] = (
                there if on_device or not file.path else fill_tokens(file.path, names)
            )
        return found

    def _push_all(self, files: tuple[PassFile, ...], names: PlaceholderValues) -> None:
        for file in files:
            if file.path:
                self._push(Path(fill_tokens(file.path, names)), self.name(file, names))

    def _push(self, source: Path, name: str, *, executable: bool = False) -> str:
        before = self._placed.setdefault(name, source)
        if before != source:
            raise LoadError(
                f"{before} and {source} would both be {name!r} on the device", remedy="give one another `filename`"
            )
        if not source.exists():
            raise LoadError(f"there is no file {source}", remedy="check the step that should have made it")
        return self._device.push(source, name, executable=executable)

    def _make_room(self, name: str) -> None:
        """Makes the folder on the device that an output goes to, before the program runs."""
        folder = os.path.dirname(name)  # noqa: PTH120 - a name on the device
        if folder and not name.startswith("/"):
            empty = Path(self._host.folder, ".empty")
            empty.mkdir(exist_ok=True)
            self._device.push(empty, folder)

    def _step_file(self, file: PassFile, names: PlaceholderValues) -> str:
        path = Path(fill_tokens(file.path, names))
        if last_word(file.key) == "program" and path.is_file() and not os.access(path, os.X_OK):
            return self._host.push(path, file.name or path.name, executable=True)
        return str(path)


def fill_tokens(text: str, names: PlaceholderValues) -> str:
    """A text outside of commands with its `{TOKEN}`s replaced."""
    return str(placeholders.replace_tokens(text, {**names.places, **names.tokens}))


def last_word(key: str) -> str:
    """The last word of a key: `softmaxout` of `output_files.softmaxout`."""
    return key.rpartition(".")[2]
