"""A request to a server, as a record that can wait on the disk."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace

JSON = "application/json"
PACKED_FROM = 1024  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """What is asked of the server. `file` is sent in the place of `body`."""

    method: str
    path: str  # below the API
    body: bytes = b""
    kind: str = JSON
    packed: bool = False  # `body` is compressed
    file: str = ""
    size: int = 0  # of the file
    what: str = ""  # for people
    repeatable: bool = True  # sent twice, it does no harm

    def small(self) -> ServerRequest:
        """The same with its body compressed, where that is worth it: a document, unless it is tiny."""
        if self.packed or self.kind != JSON or len(self.body) < PACKED_FROM:
            return self
        return replace(self, body=gzip.compress(self.body, 1, mtime=0), packed=True)
