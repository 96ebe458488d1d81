"""The files of a site that are not the dashboard's own: their names and content. Nothing in the data can become code.

`fileName` in dashboard/src/api.ts names answers in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import quote

from benchwright.pages.view_json import dumps

# `file:` because a page that is opened from a disk has no origin of its own that 'self' could mean.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' data:; font-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)
SIGNATURE = b"benchwright_site.put('"  # every answer begins so
_CHARSET = '<meta charset="utf-8" />'
_ADDED = f"""{_CHARSET}
    <meta name="generator" content="benchwright" />
    <meta http-equiv="Content-Security-Policy" content="{POLICY}" />
    <script src="data/site.js"></script>"""


def data_script(stem: str, data: bytes) -> bytes:
    """Hands over one answer, given as JSON. `stem` is the file's own name."""
    return SIGNATURE + stem.encode("ascii") + b"', " + _json_expression(data) + b");\n"


def site_script(files: Mapping[str, str]) -> bytes:
    """Says that this is a published site, and which answers it holds in which files."""
    names = sorted(name for name, file in files.items() if name == file)
    others = {name: file for name, file in sorted(files.items()) if name != file}
    return b"globalThis.benchwright_site = { put() {}, names: %s, others: %s };\n" % (
        _json_expression(dumps(names)),
        _json_expression(dumps(others)),
    )


def index_page(page: bytes) -> bytes:
    """The dashboard's page, with the site's script before its own."""
    text = page.decode("utf-8")
    assert text.count(_CHARSET) == 1, "the dashboard's index.html declares its encoding in another way"
    return text.replace(_CHARSET, _ADDED).encode("utf-8")


def _json_expression(data: bytes) -> bytes:
    """JSON as an expression. As a text that is parsed: written as code, a key named `__proto__` would act."""
    text = data.replace(b"\\", b"\\\\").replace(b"'", b"\\'")
    # Signs that end a line in code, and what could end a script if somebody pasted this into a page.
    for sign, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"<", b"\\u003c")):
        text = text.replace(sign, escaped)
    return b"JSON.parse('" + text + b"')"


_LONGEST = 150  # signs of a file's name: file systems end at 255 bytes


def answer_name(*parts: str, query: Mapping[str, str] | None = None) -> str:
    """The name of what a path gives; the path is in its parts, not yet encoded for an address."""
    pairs = [f"{name}={value}" for name, value in (query or {}).items() if value]
    words = sorted(pairs, key=lambda word: word.encode("utf-16-be", "surrogatepass"))  # as JavaScript sorts
    return ".".join(_safe(text) for text in (*parts, *words))


class Stems:
    """Names of files, without their ending: the answers' own, unless a file system could mistake one for another."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # small letters -> answer

    def of(self, name: str) -> str:
        """Returns the stem of a name; it is the same for the same name."""
        stem = name
        if len(name) > _LONGEST or self._taken.setdefault(name.lower(), name) != name:
            stem = f"{name[:40]}.{hashlib.sha256(name.encode('ascii')).hexdigest()[:20]}"
        return stem


def _safe(text: str) -> str:
    """Letters, digits and `-`; any other byte of UTF-8 as `_` and two digits."""
    # What cannot be said in UTF-8, half of a pair, is what a browser makes of it: the sign for "unknown".
    whole = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    quoted = quote(whole, safe="").replace("_", "%5F").replace(".", "%2E").replace("~", "%7E")
    return "".join(part if i == 0 else f"_{part[:2].lower()}{part[2:]}" for i, part in enumerate(quoted.split("%")))
