"""Slack, e-mail and a hundred more services, by the addresses of the apprise library. Needs `benchwright[notify]`."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchwright.errors import NotInstalledError, OptionError, UploadError
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message

MOST_PICTURES = 4
_TALKATIVE = ("apprise", "urllib3")  # the second tells the path of every request, where tokens are


class Apprise:
    """Sends messages to one service."""

    name = "apprise"
    pictures = True

    def __init__(self, address: NotifyAddress) -> None:
        with _capture_log():
            try:
                import apprise
            except ImportError:
                raise NotInstalledError(f"apprise, which {address.shown} needs,", "benchwright[notify]") from None
            service = apprise.Apprise.instantiate(address.url)
        if service is None:
            own = "; a server of yours is webhook+https://host/path" if address.scheme in ("http", "https") else ""
            raise OptionError(
                f"{address.shown} is not an address that apprise understands",
                remedy=f"https://appriseit.com/services/ lists the addresses{own}",
            )
        self._service: Any = service
        self._address = address

    def send(self, message: Message) -> str:
        """Hands the message to the service, with pictures where it takes files."""
        import apprise

        pictures = [notice.picture for notice in message.notices if notice.picture][:MOST_PICTURES]
        takes_files = bool(pictures) and bool(self._service.attachment_support)
        with tempfile.TemporaryDirectory(prefix="benchwright-") as folder, _capture_log() as said:
            group = apprise.Apprise()
            group.add(self._service)
            files = _write_pictures(pictures, Path(folder)) if takes_files else []
            done = group.notify(
                title=message.title,
                body=message.text,
                body_format=apprise.NotifyFormat.TEXT,
                notify_type=apprise.NotifyType.INFO if message.test or message.resolved else apprise.NotifyType.WARNING,
                attach=files or None,
            )
        if not done:
            reason = self._address.remove_secrets(" ".join(said)) or "the service did not take it"
            raise UploadError(
                f"{self._address.shown}: {reason}", remedy="check the address, and the service's settings"
            )
        return f"taken by {self._service.service_name}" + (f", {len(files)} pictures" if files else "")


def _write_pictures(pictures: list[bytes], folder: Path) -> list[str]:
    paths = [folder / f"change-{number}.png" for number, _ in enumerate(pictures, 1)]
    for path, picture in zip(paths, pictures, strict=True):
        path.write_bytes(picture)
    return [str(path) for path in paths]


@contextmanager
def _capture_log() -> Iterator[list[str]]:
    """Captures the warnings of the library, which may hold secrets: they go to the list and to no log meanwhile.

    Its plug-ins are imported on first use, and some warn of modules that this Python deprecates: nobody can mend it.
    """
    ear = _LogCollector()
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    before = [(logger.propagate, logger.handlers[:], logger.level) for logger in loggers]
    for logger in loggers:
        logger.propagate, logger.handlers = False, [ear]
        logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield ear.said
    finally:
        for logger, (propagate, handlers, level) in zip(loggers, before, strict=True):
            logger.propagate, logger.handlers = propagate, handlers
            logger.setLevel(level)


class _LogCollector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
