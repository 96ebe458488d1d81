"""A container on this machine: the worker runs inside an image, and everything else is as on the machine itself.

The worker's three pipes and its log go in through a unix socket that is mounted into the container, so the line is as
private as it is without one, and no output passes through the engine. The socket also tells the worker's process id
out here, which is what monitors need.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.errors import OptionError
from benchwright.execution.hosts import engines
from benchwright.execution.hosts.engines import Engine, Image
from benchwright.execution.hosts.mounts import Mount, needed_mounts, readable_mounts
from benchwright.records import Value

if TYPE_CHECKING:
    from benchwright.execution.hosts.container_worker import ContainerWorker
    from benchwright.worker.channel import Job

OPTIONS = "BENCHWRIGHT_CONTAINER_OPTIONS"
ROOTFS = "rootfs:"
PACKAGE = "/run/benchwright/package"  # where our own sources are inside
LINE = "/run/benchwright/line"  # where the socket's folder is inside
PROBE = 120.0  # seconds the first container may take
OLDEST = (3, 11)
# Variables that speak of this machine's files and sessions; an image has its own, or none.
_OURS = re.compile(
    r"PATH|HOME|SHELL|PWD|OLDPWD|TMPDIR|TMP|TEMP|HOSTNAME|USER|LOGNAME|MAIL|TERM|DISPLAY|VIRTUAL_ENV"
    r"|PYTHON(?:PATH|HOME|STARTUP|PYCACHEPREFIX)|(?:_|LD_|CONDA_|XDG_|DBUS_|SSH_|GPG_|CONTAINERS_|DOCKER_|PIP_|UV_).*"
)


class ContainerHost:
    """Starts each worker in a fresh container of `image`, which must be on this machine and have Python.

    `rootfs:/` stands for this machine's own files under a layer that is thrown away (podman only). `options` go to the
    engine's `run` as they are. Whether image and engine will do is found out at once, with a first container.
    """

    def __init__(self, image: str, *, options: Sequence[str] = (), engine: Engine | None = None) -> None:
        if not sys.platform.startswith("linux"):
            raise OptionError("workers run in containers on Linux only", remedy="leave --host out")
        self._engine = engine or engines.find()
        self._options = tuple(options)
        self._root = image.removeprefix(ROOTFS) if image.startswith(ROOTFS) else ""
        self._image = self._root_image(image) if self._root else self._engine.image(image)
        self._python = sys.executable if self._root == "/" else "python3"
        self.system: Mapping[str, Value] = {**self._probe(), "image": self._describe()}

    @classmethod
    def from_text(cls, text: str) -> ContainerHost:
        """The host of `container:TEXT`; BENCHWRIGHT_CONTAINER_OPTIONS holds options, quoted as in a shell."""
        if not text:
            raise OptionError("container: no image is named", remedy="container:IMAGE, or container:rootfs:/")
        try:
            options = shlex.split(os.environ.get(OPTIONS, ""))
        except ValueError as error:
            raise OptionError(f"{OPTIONS}: {error}", remedy="close the quotation mark") from None
        return cls(text, options=options)

    def launch(self, job: Job) -> ContainerWorker:
        """Starts a fresh container for the job and returns at once."""
        from benchwright import schema
        from benchwright.execution.hosts.container_worker import ContainerWorker
        from benchwright.worker.channel import Frame

        here = Path.cwd()
        code = "from benchwright.execution.hosts.container_init import main; main(sys.argv[1])"
        worker = ContainerWorker(
            engine=self._engine.path,
            command=lambda name, folder: [
                *self._run(name, [*needed_mounts(job, here, self._interpreter()), Mount(path=folder, at=LINE)]),
                *self._command_to_start(code, f"{LINE}/socket"),
            ],
            told={
                "cpus": sorted(os.sched_getaffinity(0)),
                "folder": str(here),
                "variables": self._variables(),
                "same_root": self._root == "/",
            },
        )
        worker.tell(Frame(kind="job", data=schema.encode(job)))
        return worker

    # ---- the engine's command ----

    def _run(self, name: str, mounts: Sequence[Mount]) -> list[str]:
        """Returns the engine's `run` command with everything up to the image."""
        command = [self._engine.path, "run", "--rm", "--name", name, "--log-driver", "none", "--pull", "never"]
        if not any(option.partition("=")[0] in ("--network", "--net") for option in self._options):
            command += ["--network", "none"]
        # Files of the user's own are mounted, and relabelling them would change them.
        command += ["--security-opt", "label=disable", "--user", f"{os.getuid()}:{os.getgid()}"]
        if self._engine.kind == "podman" and os.getuid() != 0:
            command += ["--userns", "keep-id"]
        package = Mount(path=Path(__file__).resolve().parents[2], at=f"{PACKAGE}/benchwright")
        for mount in (package, *mounts):
            command += ["--mount", mount.argument()]
        return [*command, *self._options]

    def _command_to_start(self, code: str, *arguments: str) -> list[str]:
        """The image, and Python in it with our package in front of everything."""
        check = f"sys.version_info < {OLDEST} and sys.exit('Python ' + sys.version.split()[0] + ' is too old')"
        whole = ["-c", f"import sys; {check}; sys.path[0] = {PACKAGE!r}; {code}", *arguments]
        if self._root:
            return ["--rootfs", f"{self._root}:O", self._python, *whole]
        return ["--entrypoint", self._python, self._image.name, *whole]

    def _interpreter(self) -> list[Path]:
        """Returns the container's interpreter; on this machine's root it is this one, wherever it is mounted from."""
        return [Path(sys.prefix), Path(sys.base_prefix)] if self._root == "/" else []

    def _variables(self) -> dict[str, str]:
        if self._root == "/":
            return dict(os.environ)
        return {name: value for name, value in os.environ.items() if not _OURS.fullmatch(name)}

    # ---- what it is ----

    def _root_image(self, text: str) -> Image:
        if self._engine.kind != "podman":
            raise OptionError(f"{text}: only podman runs without an image", remedy="name an image, or use podman")
        if not Path(self._root).is_absolute() or not Path(self._root).is_dir():
            raise OptionError(f"{text}: there is no folder {self._root!r}", remedy="for example container:rootfs:/")
        return Image(name=text, id="")

    def _probe(self) -> dict[str, Any]:
        """Facts from inside a first container, so that one that cannot work is refused before anything is measured."""
        code = "import json; from benchwright.execution.hosts.container_init import facts; print(json.dumps(facts()))"
        name = f"benchwright-{os.urandom(6).hex()}"
        told = engines.ask(
            [*self._run(name, readable_mounts(self._interpreter())), *self._command_to_start(code)], seconds=PROBE
        )
        try:
            facts: dict[str, Any] = json.loads(told.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            engines.ask([self._engine.path, "rm", "--force", name])
            said = (told.stderr.strip() or told.stdout.strip() or f"exit code {told.returncode}").splitlines()[-1]
            raise OptionError(
                f"{self._engine.kind} cannot measure in {self._image.name}: {said}",
                remedy=f"it needs Python {OLDEST[0]}.{OLDEST[1]} or newer; benchwright image build makes such an image",
            ) from None
        return facts

    def _describe(self) -> dict[str, Value]:
        return {
            "name": self._image.name,
            "id": self._image.id,
            "engine": f"{self._engine.kind} {self._engine.version}",
            "options": _mask_options(self._options),
        }


def _mask_options(options: Sequence[str]) -> list[Value]:
    """Options as they may be kept: the value of a variable may be a secret."""
    shown: list[Value] = []
    for before, option in zip(("", *options), options, strict=False):
        name, equals, _ = option.removeprefix("--env=").partition("=")
        is_variable = before in ("-e", "--env") or option.startswith("--env=")
        shown.append(f"{option[: option.index(name)]}{name}=***" if is_variable and equals else option)
    return shown
