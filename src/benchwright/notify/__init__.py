"""Tells people of findings: webhooks, GitHub, GitLab, Slack, e-mail and more.

`open_notifier(store_url).tell(findings, store)` tells every target of `[notify]` in `benchwright.toml` once of each.
What could not be told is kept and told by a later `tell()`; nothing that goes wrong there is raised.
"""

from __future__ import annotations

from pathlib import Path

from benchwright import config
from benchwright.notify.delivery import DeliveryOutcome, MessageDelivery, Notifier, try_target
from benchwright.notify.messages import Message, Notice
from benchwright.notify.senders import Sender, Withdrawing, sender_at
from benchwright.notify.targets import all_targets
from benchwright.vcs.forges import load_projects

__all__ = [
    "DeliveryOutcome",
    "Message",
    "MessageDelivery",
    "Notice",
    "Notifier",
    "Sender",
    "Withdrawing",
    "all_targets",
    "journal_beside",
    "open_notifier",
    "sender_at",
    "try_target",
]

FILE = "notified.jsonl"


def open_notifier(store_url: str, settings: config.Notify | None = None, *, kept: bool = True) -> Notifier:
    """The notifier that the settings describe, those of `benchwright.toml` by default; its journal is by the store.

    Targets that the store keeps are told as well, unless `kept` is false.
    """
    given = config.load().notify if settings is None else settings
    return Notifier(given, journal=journal_beside(store_url), kept=kept, projects=load_projects(store_url))


def journal_beside(store_url: str) -> Path:
    """Where it is noted who was told what: beside a store that is a file, else in `.benchwright` here."""
    path = store_url.removeprefix("sqlite:///")
    return (Path(config.DEFAULT_STORE) if "://" in path else Path(path)).parent / FILE
