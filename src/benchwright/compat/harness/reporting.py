"""Tells the reporters that were asked for. One that fails is told of, and the others still hear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchwright.compat.harness.documents import Document
from benchwright.compat.harness.flags import Flags
from benchwright.compat.harness.outcome import Told
from benchwright.compat.harness.summaries import Rules
from benchwright.errors import BenchwrightError, OptionError


def check(flags: Flags) -> None:
    """Refuses places that cannot be reported to, before anything is measured."""
    for name in ("local_reporter", "simple_local_reporter"):
        place = Path(flags.texts[name] or ".")
        if place.exists() and not place.is_dir():
            raise OptionError(f"--{name} {place} is a file", remedy="name a folder; it is made when missing")
    if flags.texts["remote_reporter"]:
        from benchwright.compat.harness import remote_post

        remote_post.endpoint(flags.texts["remote_reporter"])


def report(flags: Flags, told: Sequence[Told], *, sending: bool = True) -> list[str]:
    """Writes and sends every document; what could not be. Without `sending`, nothing goes over the network."""
    if not told:
        return []
    return [failure for name, write in _reporters(flags, told, sending) if (failure := _tried(name, write))]


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


def _reporters(flags: Flags, told: Sequence[Told], sending: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    documents = [one.document for one in told]
    texts = flags.texts
    if texts["local_reporter"]:
        yield "--local_reporter", lambda: _write(Path(texts["local_reporter"]), documents)
    if texts["simple_local_reporter"]:
        yield "--simple_local_reporter", lambda: _write_simple(Path(texts["simple_local_reporter"]), documents)
    if texts["remote_reporter"] and sending:
        yield "--remote_reporter", lambda: _send(flags, documents)


def _write(root: Path, documents: Sequence[Document]) -> None:
    from benchwright.compat.harness import local_reporter

    for document in documents:
        local_reporter.write(root, document)


def _write_simple(root: Path, documents: Sequence[Document]) -> None:
    from benchwright.compat.harness import local_reporter

    for document in documents:
        local_reporter.write_simple(root, document)


def _send(flags: Flags, documents: Sequence[Document]) -> None:
    from benchwright.compat.harness import remote_reporter

    how = remote_reporter.How(rules=Rules(flags.rules))
    remote_reporter.send(flags.texts["remote_reporter"], flags.texts["remote_access_token"], documents, how)


def _tried(name: str, write: Callable[[], object]) -> str:
    """Why a reporter failed; "" when it did not."""
    try:
        write()
    except BenchwrightError as error:
        return f"{name}: {error}"
    except OSError as error:
        return f"{name}: {error.filename or ''}: {error.strerror or error}"
    return ""
