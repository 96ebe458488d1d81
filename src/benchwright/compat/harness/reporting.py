"""Tells the reporters that were asked for. One that fails is told of, and the others still hear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchwright.compat.harness.documents import Document
from benchwright.compat.harness.flags import Flags
from benchwright.compat.harness.outcome import Told
from benchwright.compat.harness.summaries import Rules
from benchwright.errors import BenchwrightError, OptionError
from benchwright.interrupts import Interrupt


def check(flags: Flags) -> None:
    """Refuses places that cannot be reported to, before anything is measured."""
    for name in ("local_reporter", "simple_local_reporter"):
        place = Path(flags.texts[name] or ".")
        if place.exists() and not place.is_dir():
            raise OptionError(f"--{name} {place} is a file", remedy="name a folder; it is made when missing")
    if flags.texts["remote_reporter"]:
        from benchwright.compat.harness import remote_post

        remote_post.endpoint(flags.texts["remote_reporter"])


def write(flags: Flags, told: Sequence[Told]) -> list[str]:
    """Writes every document to the folders that were asked for; what could not be written."""
    documents = [one.document for one in told]
    if not documents:
        return []
    return [failure for name, act in _folders(flags, documents) if (failure := _tried(name, act))]


def send(flags: Flags, told: Sequence[Told], say: Callable[[str], None]) -> list[str]:
    """Sends every document to the server that was asked for, which may take minutes: `say` hears of each wait.

    What could not be sent. Ctrl-C and SIGTERM end it; what did not arrive waits for the next time.
    """
    if not (told and flags.texts["remote_reporter"]):
        return []
    name, interrupt = "--remote_reporter", Interrupt()
    with interrupt.watched(), interrupt.allowed():
        failure = _tried(name, lambda: _send(flags, told, lambda text: say(f"{name}: {text}")))
    return [failure] if failure else []


def screen(flags: Flags, told: Sequence[Told]) -> str:
    """What the screen reporters say."""
    from benchwright.compat.harness import screen_reporter

    texts = []
    for one in told:
        if flags.screen:
            texts.append(screen_reporter.text(one.document, rules=Rules(flags.rules)))
        if flags.simple_screen:
            texts.append(screen_reporter.simple_text(one.document))
    return "".join(text.rstrip("\n") + "\n" for text in texts)


def _folders(flags: Flags, documents: Sequence[Document]) -> Iterator[tuple[str, Callable[[], object]]]:
    texts = flags.texts
    if texts["local_reporter"]:
        yield "--local_reporter", lambda: _write(Path(texts["local_reporter"]), documents)
    if texts["simple_local_reporter"]:
        yield "--simple_local_reporter", lambda: _write_simple(Path(texts["simple_local_reporter"]), documents)


def _write(root: Path, documents: Sequence[Document]) -> None:
    from benchwright.compat.harness import local_reporter

    for document in documents:
        local_reporter.write(root, document)


def _write_simple(root: Path, documents: Sequence[Document]) -> None:
    from benchwright.compat.harness import local_reporter

    for document in documents:
        local_reporter.write_simple(root, document)


def _send(flags: Flags, told: Sequence[Told], say: Callable[[str], None]) -> None:
    from benchwright.compat.harness import remote_reporter

    how = remote_reporter.How(rules=Rules(flags.rules), say=say)
    documents = [one.document for one in told]
    remote_reporter.send(flags.texts["remote_reporter"], flags.texts["remote_access_token"], documents, how)


def _tried(name: str, act: Callable[[], object]) -> str:
    """Why a reporter failed; "" when it did not."""
    try:
        act()
    except BenchwrightError as error:
        return f"{name}: {error}"
    except OSError as error:
        return f"{name}: {error.filename or ''}: {error.strerror or error}"
    return ""
