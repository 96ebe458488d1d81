"""The files of a site that are not the dashboard's own. Nothing in the data can become code."""

from __future__ import annotations

from collections.abc import Mapping

from benchwright.pages.encoding import dumps

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
    return SIGNATURE + stem.encode("ascii") + b"', " + _parsed(data) + b");\n"


def site_script(files: Mapping[str, str]) -> bytes:
    """Says that this is a published site, and which answers it holds in which files."""
    names = sorted(name for name, file in files.items() if name == file)
    others = {name: file for name, file in sorted(files.items()) if name != file}
    return b"globalThis.benchwright_site = { put() {}, names: %s, others: %s };\n" % (
        _parsed(dumps(names)),
        _parsed(dumps(others)),
    )


def index_page(page: bytes) -> bytes:
    """The dashboard's page, with the site's script before its own."""
    text = page.decode("utf-8")
    assert text.count(_CHARSET) == 1, "the dashboard's index.html declares its encoding in another way"
    return text.replace(_CHARSET, _ADDED).encode("utf-8")


def _parsed(data: bytes) -> bytes:
    """JSON as an expression. As a text that is parsed: written as code, a key named `__proto__` would act."""
    text = data.replace(b"\\", b"\\\\").replace(b"'", b"\\'")
    # Signs that end a line in code, and what could end a script if somebody pasted this into a page.
    for sign, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"<", b"\\u003c")):
        text = text.replace(sign, escaped)
    return b"JSON.parse('" + text + b"')"
