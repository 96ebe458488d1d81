"""A site to publish: the dashboard with its data in files beside it, for any web space or a disk.

The pages and their data are those of a server; here each answer is a script that hands over its data, because browsers
load scripts from a disk and nothing else.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

from benchwright._version import VERSION
from benchwright.pages import dashboard
from benchwright.pages.code import add_code_links
from benchwright.pages.shapes import About
from benchwright.pages.site.answers import SiteAnswer, answers, hold_still
from benchwright.pages.site.files import Stems, data_script, index_page, site_script
from benchwright.pages.site.folder import DATA, FileCounts, Folder
from benchwright.pages.view_json import dumps, hide_mail
from benchwright.pages.views import home_address
from benchwright.store.archive import Archive
from benchwright.vcs.forges import Projects

__all__ = ["RUNS", "FileCounts", "publish"]

RUNS = 50  # the newest, with all their results
_ABOUT = "about"
_MADE_AT = re.compile(rb'"generated_at":\d+')


def publish(
    archive: Archive,
    path: Path,
    *,
    runs: int = RUNS,
    force: bool = False,
    on_answer: Callable[[int], None] = lambda _: None,
    projects: Projects | None = None,
    link: str = "",
) -> FileCounts:
    """Writes a site of the newest runs into a folder; `on_answer` is called with how many answers are ready.

    `projects` say where code is shown, `link` is the page of a finding as others reach it, with `{id}` in it.

    Files that would be the same are left alone, and those of an older site that are not needed any more are removed at
    the end. A folder that is not empty and holds no site of ours is an `OptionError`, unless `force`.
    """
    bundle = dashboard.bundle()
    known = projects or Projects()
    links = repr((known.configured, known.default)).encode() if projects else b""  # every file holds some of them
    made_by = hashlib.sha256(bundle["app.js"] + links).hexdigest()[:16]
    site = _Site(Folder(path, made_by, force=force), known)
    for number, answer in enumerate(answers(hold_still(archive), runs, known, link)):
        site.add(answer)
        on_answer(number + 1)
    return site.finish(bundle, home=home_address(archive))


class _Site:
    """A site while it is written."""

    def __init__(self, folder: Folder, projects: Projects) -> None:
        self._folder = folder
        self._projects = projects
        self._stems = Stems()
        self._files: dict[str, str] = {}  # answer -> file
        self._unchanged: set[str] = set()  # answers

    def add(self, answer: SiteAnswer) -> None:
        """Writes one file, under all its names."""
        name = answer.names[0]
        if name not in self._files and not self._stands(answer):
            file, content = self._file(name, answer.view())
            if not self._folder.write(file, content):
                self._unchanged.add(name)
        for other in answer.names[1:]:
            self._files.setdefault(other, self._files[name])

    def finish(self, bundle: dict[str, bytes], *, home: str) -> FileCounts:
        """The pages themselves come last, so that they never ask for what is not there yet."""
        folder = self._folder
        about = self._file(_ABOUT, _about(home))
        folder.write(_place("site"), site_script(self._files))
        for file, content in bundle.items():
            folder.write(file, index_page(content) if file == "index.html" else content)
        folder.write(*self._as_before(*about))
        folder.finish()
        return folder.counts

    def _stands(self, answer: SiteAnswer) -> bool:
        """Results do not change: those of a run that is as it was need not be made again, which takes long."""
        if not self._folder.is_same_maker or answer.part_of not in self._unchanged:
            return False
        name = answer.names[0]
        self._files[name] = self._stems.of(name)
        return self._folder.keep(_place(self._files[name]))

    def _file(self, name: str, view: object) -> tuple[str, bytes]:
        # Whoever finds a site may read it: people are named there, but their e-mail addresses are not told.
        stem = self._files[name] = self._stems.of(name)
        return _place(stem), data_script(stem, hide_mail(dumps(add_code_links(view, self._projects))))

    def _as_before(self, name: str, content: bytes) -> tuple[str, bytes]:
        """Keeps the old file where only the time of making is new, so that an equal site stays as it is."""
        before = self._folder.content(name)
        same = before is not None and _MADE_AT.sub(b"", before) == _MADE_AT.sub(b"", content)
        return name, before if before is not None and same and not self._folder.counts.written else content


def _place(stem: str) -> str:
    return f"{DATA}/{stem}.js"


def _about(home: str) -> About:
    # Where the store lies is nobody's business here.
    now = time.time_ns() // 1_000_000
    return About(version=VERSION, store="", who="", scopes=("read",), static=True, generated_at=now, home=home)
