"""Addresses of targets: where their secrets come from, and how they are shown without them.

`${NAME}` in an address stands for a variable of the environment, `${file:PATH}` for what a file holds. An address that
is one such reference and nothing else is taken as it is there; inside an address the value is percent-encoded.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from benchwright.errors import OptionError
from benchwright.system import secret_references
from benchwright.system.masking import HIDDEN
from benchwright.system.secret_references import REFERENCE

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PARTS = re.compile(r"[/?&=@:#,;]+")
_SHORTEST = 4  # letters of a part that is hidden in others' messages; shorter ones are no secrets and parts of words
_MARK = "\0"
_NEEDS = "a target to notify"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyAddress:
    """Where a target is. Neither its text nor its `repr` shows a secret."""

    key: str  # names the target in the journal; it stays when a secret is exchanged
    shown: str
    scheme: str  # in small letters
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False, default=())

    def __str__(self) -> str:
        return self.shown

    def remove_secrets(self, words: str) -> str:
        """Somebody's words about this target, without anything of its address that may be secret."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            words = words.replace(secret, HIDDEN)
        return words


def key_of(text: str) -> str:
    """The name of a target in the journal: made from the address as it is written, not from its secrets."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:16]


def identity_of(text: str) -> str:
    """What addresses of one place have in common, however their secrets are named. No secret can be read in it."""
    try:
        meant = read_address(text).url
    except OptionError:  # its variable is not set here
        meant = text.strip()
    return hashlib.sha256(meant.encode()).hexdigest()[:32]


def mask_address(text: str) -> str:
    """An address as it is written, without what may be secret in it."""
    written = text.strip()
    if secret_references.is_reference(written):
        return written
    masked = REFERENCE.sub(HIDDEN, written)
    scheme = _scheme(masked)
    rest = masked.partition("://")[2]
    if _late_at(masked):  # what stands before it may be a secret with a slash in it, or a host and its path
        return f"{scheme}://{HIDDEN}"
    if scheme.partition("+")[0] == "webhook":  # its path may be known to nobody else
        host, slash, path = rest.rpartition("@")[2].partition("/")
        return f"{scheme}://{re.split('[?#]', host)[0]}{slash}{HIDDEN if path else ''}"
    if scheme in ("github", "gitlab"):
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return f"{scheme}://{HIDDEN}" if scheme else HIDDEN


def read_address(text: str) -> NotifyAddress:
    """The address with every reference replaced; an `OptionError` when one leads nowhere."""
    written = text.strip()
    is_whole = secret_references.is_reference(written)
    url = secret_references.fill_in(written, needs=_NEEDS, written=str if is_whole else _quote)
    scheme = _scheme(url)
    if not scheme:
        raise OptionError(
            f"{mask_address(text)} is not the address of a target", remedy="for example webhook+https://host/path"
        )
    parts = {url, url.partition("://")[2], *(part for part in _PARTS.split(url.partition("://")[2]))}
    parts |= {unquote(part) for part in parts} | {*secret_references.values_in(written, needs=_NEEDS)}
    secrets = tuple(sorted(part for part in parts if len(part) >= _SHORTEST))
    return NotifyAddress(key=key_of(text), shown=mask_address(text), scheme=scheme, url=url, secrets=secrets)


def check_login(text: str, url: str) -> None:
    """Raises when a secret is written out where a reference belongs: in front of the `@` of an address of ours.

    So does an `@` behind the host, in the text or in the `url` that it stands for: what is a secret there, and which
    server is meant, cannot be told.
    """
    login = re.match(r"[^:]+://(.*)@", REFERENCE.sub(_MARK, text.strip()), re.DOTALL)
    if login and login[1].strip(":") != _MARK:
        raise OptionError(
            f"{mask_address(text)} has its secret written out",
            remedy="put it into a variable and write ${NAME}@, or into a file and write ${file:PATH}@; "
            "an @ that is part of a path is %40",
        )
    if _late_at(url):
        raise OptionError(
            f"{mask_address(text)} has /, ? or # in front of an @",
            remedy="write %2F, %3F and %23 in a secret, and %40 for an @ that is part of a path",
        )


def _late_at(url: str) -> bool:
    """Whether there is an `@` where no login can be any more."""
    return "@" in "".join(re.split("([/?#])", url.partition("://")[2], maxsplit=1)[1:])


def _scheme(text: str) -> str:
    found = _SCHEME.match(text)
    return found[1].lower() if found else ""


def _quote(secret: str) -> str:
    return quote(secret, safe="")
