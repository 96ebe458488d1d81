"""What an outpost is made of, as one file: the modules that make attempts, and nothing else.

Only the standard library is needed on the other machine; frameworks are those of its own Python.
"""

from __future__ import annotations

import compileall
import io
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchwright.execution import worker_archive

_ROOT = Path(__file__).parents[2]
MODULES = (
    *worker_archive.MODULES,
    "config.py",
    "events.py",
    "execution/__init__.py",
    "execution/attempt.py",
    "execution/frames.py",
    "execution/hosts/__init__.py",
    "execution/hosts/local.py",
    "execution/outposts/__init__.py",
    "execution/outposts/bundles.py",
    "execution/outposts/entry.py",
    "execution/outposts/installer.py",
    "execution/outposts/orders.py",
    "execution/outposts/outcomes.py",
    "execution/outposts/outpost.py",
    "execution/outposts/shelf.py",
    "execution/plan_elsewhere.py",
    "execution/searches.py",
    "execution/venvs/*.py",
    "fetch/*.py",
    "schema/*.py",
    "system/*.py",
    "targets/asv/*.py",
    "targets/sources/*.py",
    "targets/specs/*.py",
    "units/*.py",
)
# Runs over there, before anything of ours is known to be there. It must be read by any Python 3, so that one which is
# too old can give way to the next of those that are named, or say so. It takes one byte at a time, as what follows the
# first line belongs to the outpost.
BOOTSTRAP = """
import json, os, sys
if sys.version_info < (3, 11):
    import shutil, subprocess
    for name in sys.argv[2:]:
        other = shutil.which(name)
        test = "import sys; sys.exit(sys.version_info < (3, 11))"
        if other and subprocess.call([other, "-c", test], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            os.execv(other, [other, "-c", os.environ["BW"], sys.argv[1]])
os.environ.pop("BW", None)
def line():
    seen = b""
    while not seen.endswith(b"\\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(1)
        seen += byte
    return json.loads(seen.decode())
told = line()
def say(**data):
    os.write(1, ("\\nBENCHWRIGHT-%s %s\\n" % (told["token"], json.dumps(data))).encode())
if sys.version_info < (3, 11):
    say(error="its Python is %d.%d" % sys.version_info[:2], remedy="benchwright needs Python 3.11 or newer there: "
        "name one with ?python=PATH")
    sys.exit(1)
try:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    home = told["home"] or os.path.join(cache, "benchwright", "outpost")
    place = os.path.join(home, "packages", told["digest"])
    if not os.path.isdir(place):
        import hashlib, io, zipfile
        say(want=True)
        sent, content = line(), b""
        while len(content) < sent["size"]:
            piece = os.read(0, min(1 << 20, sent["size"] - len(content)))
            if not piece:
                sys.exit(1)
            content += piece
        if hashlib.sha256(content).hexdigest() != sent["sha256"]:
            say(error="what was sent arrived damaged", remedy="try again")
            sys.exit(1)
        fresh = "%s.%d" % (place, os.getpid())
        os.makedirs(fresh, mode=0o700)
        zipfile.ZipFile(io.BytesIO(content)).extractall(fresh)
        try:
            os.rename(fresh, place)
        except OSError:
            import shutil
            shutil.rmtree(fresh)
            if not os.path.isdir(place):
                raise
except OSError as error:
    say(error="its cache cannot be written: %s" % error, remedy="make room there, or set XDG_CACHE_HOME")
    sys.exit(1)
say(ready=True)
sys.path.insert(0, place)
from benchwright.execution.outposts.entry import main
main(told, home)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutpostArchive:
    """The modules of the outpost: their digest names them on every machine, and most have them already."""

    digest: str

    @property
    def content(self) -> bytes:
        """The modules, packed; that takes longer than all else that a machine which has them is told."""
        return worker_archive.packed(MODULES, root=_ROOT)


def unpack(home: Path) -> Path:
    """Puts this version's modules where an outpost of that home looks for them, compiled; the folder of all versions.

    For a home whose outposts may not write there: each would compile every module again.
    """
    known = find()
    place = home / "packages" / known.digest
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = Path(tempfile.mkdtemp(prefix=f"{known.digest[:12]}-", dir=place.parent))
        try:
            with zipfile.ZipFile(io.BytesIO(known.content)) as packed:
                packed.extractall(fresh)
            compileall.compile_dir(fresh, quiet=2, stripdir=str(fresh), prependdir=str(place))
            fresh.rename(place)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not place.is_dir():  # nobody else was faster
                raise
    return place.parent


@lru_cache(maxsize=1)
def find() -> OutpostArchive:
    """The outpost of this version; its digest depends on the modules alone."""
    return OutpostArchive(digest=worker_archive.digest_of(MODULES, root=_ROOT))
