"""Workers that are threads of this process, for debugging: the same work over the same line, without isolation."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from benchwright import schema
from benchwright.errors import BenchwrightError
from benchwright.system.orphans import TOKEN_BYTES
from benchwright.worker import main
from benchwright.worker.channel import Frame, FrameReader, Job, write_message
from benchwright.worker.runtimes.failures import log_traceback

_READ = 1 << 20
_loading = threading.Lock()  # copies load one after another: what they are told is in the process's environment


class ThreadHost:
    """Starts workers as threads; `restore_process` undoes what they change of the process."""

    def launch(self, job: Job) -> ThreadWorker:
        made = ThreadWorker()
        made.tell(Frame(kind="job", data=schema.encode(job)))
        return made


class ThreadWorker:
    """One thread at the other end of a pair of pipes. It cannot be killed: it ends when its measurement does."""

    def __init__(self) -> None:
        self._token = os.urandom(TOKEN_BYTES)
        self._reader = FrameReader(self._token)
        control, self._control = os.pipe()
        self._answer, answer = os.pipe()
        self._line = _Line(control, answer, self._token)
        self._thread = threading.Thread(target=_work, args=(self._line, control, answer), daemon=True, name="copy")
        self._thread.start()
        self._ended = False

    @property
    def pid(self) -> int:
        return os.getpid()

    def fileno(self) -> int:
        return self._answer

    def tell(self, message: Frame) -> None:
        with contextlib.suppress(BrokenPipeError):
            write_message(self._control, self._token, message)

    def hear(self) -> list[Frame] | None:
        data = os.read(self._answer, _READ)
        if not data:
            return None
        self._reader.feed(data)
        return list(iter(self._reader.next, None))

    def gone(self) -> bool:
        return not self._thread.is_alive()

    def end(self, grace: float) -> int:
        if not self._ended:
            self._ended = True
            os.close(self._control)  # one that still waits for a word ends now
            self._thread.join(grace)
            self._line.give_up()
            os.close(self._answer)
        return 0

    def bound_log(self) -> None:
        """Does nothing, since there is no log: what is printed is on the caller's own screen."""

    def log_tail(self) -> str:
        return ""


class _Line(main.WorkerLine):
    """Holds the others off while this copy loads, until it has loaded or is given up."""

    def __init__(self, control: int, answer: int, token: bytes) -> None:
        super().__init__(control, answer, token)
        self._state = threading.Lock()  # of the next two, which two threads change
        self._loads = self._given_up = False

    def hear(self) -> Frame:
        message = super().hear()
        if message.kind == "job":
            _loading.acquire()
            with self._state:
                self._loads = True
            if self._given_up:
                self._let_others_load()
                sys.exit("the caller gave up")
        return message

    def send(self, message: Frame) -> None:
        if message.kind in ("warming", "failed"):
            self._let_others_load()
        super().send(message)

    def give_up(self) -> None:
        """Gives up this copy: one whose loading never ends keeps no other copy waiting."""
        self._given_up = True
        self._let_others_load()

    def _let_others_load(self) -> None:
        with self._state:
            if self._loads:
                self._loads = False
                _loading.release()


def _work(line: _Line, control: int, answer: int) -> None:
    try:
        with contextlib.suppress(BrokenPipeError):
            try:
                main.work(line)
            except SystemExit as ended:  # the caller gave up
                line.say("failed", kind="exit", message=str(ended), remedy="")
            except BaseException as failure:  # the border of this thread: whatever user code raises becomes an answer
                log_traceback(failure)
                remedy = failure.remedy if isinstance(failure, BenchwrightError) else ""
                message = failure.message if isinstance(failure, BenchwrightError) else str(failure) or repr(failure)
                line.say("failed", kind=type(failure).__name__, message=message, remedy=remedy)
    finally:
        os.close(control)
        os.close(answer)


@contextlib.contextmanager
def restore_process() -> Iterator[None]:
    """Restores the import paths and the environment variables of this process after the block."""
    path, variables = list(sys.path), dict(os.environ)
    try:
        yield
    finally:
        sys.path[:] = path
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)
