"""The dashboard's files: built from `dashboard/` when the package is made, so that nobody needs Node to use them."""

from __future__ import annotations

from pathlib import Path

from benchwright.errors import OptionError

BUNDLE = Path(__file__).parent / "bundle"
NAMES = ("index.html", "app.js", "app.css")
LICENSES = "licenses.txt"  # of what is in app.js; a build for looking at while one writes has none


def bundle() -> dict[str, bytes]:
    """The built files by name."""
    if missing := [name for name in NAMES if not (BUNDLE / name).is_file()]:
        raise OptionError(
            f"the dashboard is not built: {missing[0]} is not there",
            remedy="in a clone of the repository: make dashboard; a released package holds it",
        )
    names = (*NAMES, LICENSES) if (BUNDLE / LICENSES).is_file() else NAMES
    return {name: (BUNDLE / name).read_bytes() for name in names}
