"""The outpost: runs on the machine that measures, takes orders on its standard input, answers on its standard output.

It ends, with all that it started, when its line closes or when its parent was silent for too long; what it wrote goes
with it, but for files that the next run needs as well. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchwright import schema
from benchwright.errors import BenchwrightError, ChannelError
from benchwright.execution.outposts import bundles, outcomes
from benchwright.execution.outposts.installer import Installer
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment, WorkPlace
from benchwright.execution.outposts.shelf import FileShelf
from benchwright.execution.venvs import environments
from benchwright.records import Environment, Failure
from benchwright.system.interrupts import Interrupt
from benchwright.system.texts import describe_error
from benchwright.worker.channel import Frame, FrameReader, Job, write_message

INTERRUPTED = "interrupted"  # the kind of failure of what was cancelled
PROTOCOL = 2
SILENCE = 180.0  # seconds without a word from the parent after which it is taken to have gone
BEAT = 20.0  # seconds between two signs of life
READ = 1 << 20
MOST_LEFT = 256 << 20  # bytes of the files of one attempt that are sent back


class OutpostLine:
    """The outpost's end of the line. A thread reads it; whoever answers holds a lock."""

    def __init__(self, orders: int, answers: int, token: bytes) -> None:
        self._orders, self._answers, self._token = orders, answers, token
        self._lock = threading.Lock()
        self._heard_at = time.monotonic()
        self.incoming: queue.Queue[Frame] = queue.Queue()
        self.cancelled = threading.Event()

    def start(self) -> None:
        """Begins to listen, and to tell that this process lives."""
        threading.Thread(target=self._listen, name="benchwright-orders", daemon=True).start()
        threading.Thread(target=self._beat, name="benchwright-beat", daemon=True).start()

    def say(self, kind: str, /, **data: Any) -> None:
        """Sends a message without arrays."""
        self.send(Frame(kind=kind, data=data))

    def send(self, frame: Frame) -> None:
        """Sends any message; a parent that has gone ends this process."""
        with self._lock:
            try:
                write_message(self._answers, self._token, frame)
            except OSError:
                os._exit(1)

    def _listen(self) -> None:
        reader = FrameReader(self._token)
        while True:
            try:
                data = os.read(self._orders, READ)
                if not data:
                    os._exit(1)  # the parent has gone: the keeper ends the rest
                reader.feed(data)
                frames = list(iter(reader.next, None))
            except (OSError, ChannelError):
                os._exit(1)
            self._heard_at = time.monotonic()
            for frame in frames:
                if frame.kind == "cancel":
                    self.cancelled.set()
                    os.kill(os.getpid(), signal.SIGINT)
                elif frame.kind != "beat":
                    self.incoming.put(frame)

    def _beat(self) -> None:
        while True:
            time.sleep(BEAT)
            if time.monotonic() - self._heard_at > SILENCE:
                os._exit(1)
            self.say("beat")


class Outpost:
    """Takes orders one at a time."""

    def __init__(self, line: OutpostLine, home: Path, temporary: Path, root: Path, host: Any) -> None:
        self._line, self._temporary = line, temporary
        self._shelf = FileShelf(home / "files")
        self._root = root  # files of the run lie below it as they lie at the parent's
        self._home = home.resolve()
        self._host = host  # of this machine, with a worker that waits for its job in the present folder
        self._environment: Environment | None = None
        self._interrupt = Interrupt()
        self._is_measuring = False

    def serve(self) -> None:
        """Answers orders until the line closes."""
        with self._interrupt.watch():
            self._line.start()
            self._line.say("hello", protocol=PROTOCOL, pid=os.getpid(), root=str(self._root), python=sys.executable)
            while True:
                order = self._line.incoming.get()
                try:
                    self._ORDERS[order.kind](self, order)
                except KeyError:
                    self._line.say("refused", message=f"this outpost knows no order {order.kind!r}", remedy="")
                except BenchwrightError as error:
                    self._line.say("refused", message=error.message, remedy=error.remedy)
                except OSError as error:  # a disk that is full, a folder that may not be written
                    self._line.say("refused", message=describe_error(error, 400), remedy="")

    # ---- orders ----

    def _take_list(self, order: Frame) -> None:
        """Places what is on the shelf already, and tells what is not."""
        files = schema.decode(tuple[bundles.SentFile, ...], order.data["files"], where="files")
        lacking = {one.sha256: one.size for one in files if not self._shelf.holds(one.sha256, one.size)}
        if lacking:
            self._shelf.make_room(sum(lacking.values()), keep={one.sha256 for one in files})
        self._line.say("lacking", digests=sorted(lacking), free=self._shelf.free)

    def _take_piece(self, order: Frame) -> None:
        """One piece of a file; the last one puts it on the shelf, if it is what it should be."""
        data = order.data
        body = order.arrays["bytes"].tobytes()[: data["size"]]
        whole = self._shelf.add(data["sha256"], body, last=data["last"])
        if data["last"]:
            self._line.say("shelved", whole=whole)

    def _place(self, order: Frame) -> None:
        """Lays the files of the run out below its root."""
        for one in schema.decode(tuple[bundles.SentFile, ...], order.data["files"], where="files"):
            self._shelf.lay_out(one, self._root)
        for folder in order.data["folders"]:
            bundles.below(self._root, folder).mkdir(parents=True, exist_ok=True)
        directory, variables = bundles.below(self._root, order.data["directory"]), order.data["variables"]
        if directory != Path.cwd() or any(os.environ.get(name) != value for name, value in variables.items()):
            self._host.close()  # what waits there waits in another place
            self._host = None
            os.chdir(directory)
            os.environ.update(variables)
        self._line.say("placed")
        self._get_host_ready()  # in the folder that it is to work in

    def _tell_environment(self, order: Frame | None = None) -> None:
        self._line.say("environment", **schema.encode(self._collect_environment()))

    def _check_machine(self, order: Frame) -> None:
        """Tells whether this machine is fit to measure."""
        from benchwright.machine.fitness import check_machine

        found = check_machine(self._temporary, window=min(5.0, float(order.data["window"])))
        self._line.say("checked", **schema.encode(found))

    def _make_attempt(self, order: Frame) -> None:
        """Measures one case and answers with its outcome, whatever that is."""
        from benchwright.execution.attempt import Attempt

        job = schema.decode(Job, order.data["job"], where="job")
        left = self._temporary / "left"
        if job.folder:
            left.mkdir(exist_ok=True)
        self._line.cancelled.clear()
        place = schema.decode(WorkPlace, order.data.get("place") or {}, where="place")
        attempt = Attempt(
            job.case,
            self._host_at(place),
            paths=job.paths,
            cpus=self._check_cpus(job.cpus),
            memory=job.memory,
            last_paths=job.last_paths,
            folder=left if job.folder else None,
            profile=job.profile,
            monitors=order.data["monitors"],
            while_loading=self._tell_environment if order.data.get("environment") else lambda: None,
            on_phase=lambda phase: self._line.say("phase", text=phase),
        )
        with self._interrupt.allow():
            self._is_measuring = True
            try:
                outcome = attempt.run()
            finally:
                self._is_measuring = False
        self._interrupt.seen = False
        if job.folder:
            self._send_back(left)
        self._line.send(outcomes.pack(outcome))
        if place == WorkPlace():
            # Not where sides take turns: its start would fall into the other side's measurement.
            self._get_host_ready()

    def _build(self, order: Frame) -> None:
        """Makes an environment, or a revision in one; answers with it, or with why there is none."""
        wanted = schema.decode(EnvironmentOrder, order.data["order"], where="order")
        self._line.cancelled.clear()
        installer = Installer(self._home, self._root, lambda text: self._line.say("phase", text=text))
        try:
            with self._interrupt.allow():
                made = installer.make(wanted)
        except KeyboardInterrupt:
            made = MadeEnvironment(failure=Failure(kind=INTERRUPTED, message="nobody wants it any more"))
        self._interrupt.seen = False
        self._line.say("built", **schema.encode(made))

    def _plan(self, order: Frame) -> None:
        """Answers with the cases of a request, planned with the Python that is to measure them."""
        from benchwright.execution import plan_elsewhere

        data = order.data
        place = schema.decode(WorkPlace, data["place"], where="place")
        self._line.cancelled.clear()
        try:
            with self._interrupt.allow():
                if place.python or data["paths"] != [place.folder]:
                    plan = plan_elsewhere.ask_child(
                        data["request"],
                        python=place.python or sys.executable,
                        folder=Path(place.folder),
                        variables=self._variables_at(place),
                        paths=data["paths"],
                        timeout=float(data["seconds"]),
                        ours_first=True,
                    )
                else:  # with this very interpreter: one process less to start
                    with _looking_in(place.folder, data["request"].get("last_paths", ())):
                        plan = plan_elsewhere.make_plan(data["request"])
        except KeyboardInterrupt:
            plan = {}
        self._interrupt.seen = False
        self._line.say("planned", plan=plan)

    def _watch_notices(self, order: Frame) -> None:
        """Looks from now on whether the cloud takes this machine away, and ends what is under way when it does."""
        from benchwright.machine.environment.spot_notices import ask_notice

        def look() -> None:
            while not (told := ask_notice(order.data["provider"], order.data["service"])):
                time.sleep(float(order.data["every"]))
            self._line.say("notice", text=told)
            if self._is_measuring:
                self._line.cancelled.set()
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=look, name="benchwright-notices", daemon=True).start()

    _ORDERS: ClassVar[Mapping[str, Callable[[Outpost, Frame], None]]] = {
        "files": _take_list,
        "piece": _take_piece,
        "place": _place,
        "environment": _tell_environment,
        "check": _check_machine,
        "attempt": _make_attempt,
        "build": _build,
        "plan": _plan,
        "watch": _watch_notices,
    }

    # ---- what is done for them ----

    def _get_host_ready(self) -> Any:
        """The host of this machine, with a worker that waits for its job."""
        from benchwright.execution.hosts.local import LocalHost

        self._host = self._host or LocalHost(lent_first=True)
        self._host.get_ready()
        return self._host

    def _host_at(self, place: WorkPlace) -> Any:
        """The host of this machine that starts workers there; the usual one has one waiting already."""
        from benchwright.execution.hosts.local import LocalHost

        if place == WorkPlace():
            return self._get_host_ready()
        return LocalHost(
            python=place.python,
            directory=Path(place.folder) if place.folder else None,
            environment=self._variables_at(place),
            lent_first=True,
        )

    @staticmethod
    def _variables_at(place: WorkPlace) -> dict[str, str]:
        python = Path(place.python or sys.executable)
        told = environments.variables(python, place.revision, Path(place.folder), own=place.own)
        return told if place.revision else {name: told[name] for name in told if name not in environments.OF_REVISION}

    def _check_cpus(self, cpus: tuple[int, ...]) -> tuple[int, ...]:
        there = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
        if absent := sorted({*cpus} - there):
            raise BenchwrightError(f"the CPUs {absent} are not there", remedy=f"give --cpus some of {sorted(there)}")
        return cpus

    def _collect_environment(self) -> Environment:
        if self._environment is None:
            from benchwright.machine import environment

            self._environment = environment.collect()
        return self._environment

    def _send_back(self, left: Path) -> None:
        """Sends the files that an attempt left, as far as they are not too many; then they go."""
        from array import array

        room = MOST_LEFT
        for path in sorted(one for one in left.rglob("*") if one.is_file() and not one.is_symlink())[
            : bundles.MOST_LEFT
        ]:
            size = path.stat().st_size
            name = path.relative_to(left).as_posix()
            if size > room:
                self._line.say("withheld", name=name, size=size)
                continue
            room -= size
            with path.open("rb") as file:
                for piece in bundles.pieces_of(file):
                    body = array("q", bundles.padded(piece))
                    self._line.send(Frame(kind="left", data={"name": name, "size": len(piece)}, arrays={"bytes": body}))
        shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _looking_in(folder: str, last_paths: Sequence[str]) -> Iterator[None]:
    """Has this process look for modules of a request behind its own, and those that it starts before all others."""
    search, variable = list(sys.path), os.environ.get("PYTHONPATH")
    try:
        with contextlib.chdir(folder):
            sys.path += last_paths
            os.environ["PYTHONPATH"] = folder
            yield
    finally:
        sys.path[:] = search
        os.environ.pop("PYTHONPATH")
        os.environ |= {} if variable is None else {"PYTHONPATH": variable}
