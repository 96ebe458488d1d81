"""Whether a target works: a message that says that it is a test."""

from __future__ import annotations

import secrets

from benchwright.notify import addresses
from benchwright.notify.messages import Message, Notice
from benchwright.notify.senders import deliver, sender_at
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding
from benchwright.report.change_picture import SeriesPicture, png, sketch

_VALUES = (1.0, 1.01, 0.99, 1.0, 1.02, 0.99, 1.01, 1.1, 1.11, 1.09, 1.1, 1.12)  # ms
_CHANGE = 7


def try_target(text: str) -> str:
    """Sends an invented finding to the address and says what happened; raises when it could not be sent.

    GitHub and GitLab get no comment, which nobody could take back: there the token is tried.
    """
    sender = sender_at(text)
    trace = SeriesPicture(
        values=tuple(v / 1000 for v in _VALUES), change=_CHANGE, title="a test of Benchwright", unit="s"
    )
    picture = png(trace) if sender.pictures else b""
    notice = Notice(finding=_invented(), sketch=sketch(trace), picture=picture)
    message = Message(id=secrets.token_hex(16), notices=(notice,), test=True)
    return deliver(sender.send, message, addresses.shown(text))


def _invented() -> Finding:
    return Finding(
        id="test",
        series="test",
        case="a test of Benchwright",
        metric="latency_p50",
        unit="s",
        before=Estimate(point=0.001, low=0.00099, high=0.00101),
        after=Estimate(point=0.0011, low=0.00109, high=0.00111),
        effect=Estimate(point=1.1, low=1.08, high=1.12),
        method="invented",
        verdict=Verdict.WORSE,
    )
