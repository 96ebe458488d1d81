"""Which file a target means: each revision's own, or one of the user's for all revisions.

A comparison of revisions is about their code only where the benchmark is one and the same, and old revisions may not
have it at all. So a file of the user's that the repository does not hold is taken for every revision. One that the
repository holds is taken as each revision has it, as long as all of them have it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchwright.errors import OptionError, TargetError
from benchwright.targets.sources import Request, digest_files, find_file
from benchwright.vcs.history import History

AUTO, HERE, REVISION = "auto", "here", "revision"
CHOICES = (AUTO, HERE, REVISION)
_DOTTED = re.compile(r"([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_][\w.]*)?")
_FLAG = "--targets-from here takes yours for all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPlace:
    """A side of a comparison: what to call it, and what names the content of a path in it ("": it has none)."""

    label: str
    look: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledRequest:
    """A request in which it is settled which file each target means."""

    request: Request
    folders: tuple[str, ...] = ()  # of the user's files: what they import beside them is found there, last
    notes: tuple[str, ...] = ()  # which file is used, where it could have been another


def settle(
    request: Request,
    places: Sequence[ContentPlace],
    repository: History | None = None,
    *,
    choice: str = AUTO,
    folder: Path | None = None,
    everywhere: bool = True,
) -> SettledRequest:
    """Decides for each target which file it means; a `TargetError` where there is none.

    `folder` is the user's own. `everywhere`: a target that is not in every place is an error, too.
    """
    if choice not in CHOICES:
        raise OptionError(
            f"targets-from: {choice!r} is not a known choice", remedy=f"choose one of {', '.join(CHOICES)}"
        )
    settling = _TargetSettler(tuple(places), repository, choice, (folder or Path.cwd()).absolute(), everywhere)
    targets = [settling.target(target) for target in request.targets]
    return SettledRequest(
        request=replace(request, targets=targets),
        folders=tuple(settling.folders),
        notes=tuple(dict.fromkeys(settling.notes)),
    )


def place_of_folder(label: str, folder: Path) -> ContentPlace:
    """Returns the place of a folder whose content is taken as it is."""

    def look(path: str) -> str:
        file = folder / path
        return digest_files([file]) if file.is_file() else path if file.is_dir() else ""

    return ContentPlace(label=label, look=look)


def place_of_revision(label: str, repository: History, revision: str) -> ContentPlace:
    """Returns the place of a revision; nothing of it needs to be built."""
    return ContentPlace(label=label, look=lambda path: repository.content_id(revision, path))


class _TargetSettler:
    """Settles the targets of one request, one after the other."""

    def __init__(
        self, places: Sequence[ContentPlace], repository: History | None, choice: str, folder: Path, everywhere: bool
    ) -> None:
        self._places, self._repository, self._choice = places, repository, choice
        self._folder, self._everywhere = folder, everywhere
        self.folders: dict[str, None] = {}
        self.notes: list[str] = []

    def target(self, target: str) -> str:
        """The target as every revision is to read it."""
        text, separator, name = target.partition("::")
        if "://" in text:
            return target
        path = Path(text).expanduser()
        if path.is_absolute():
            return self._use_own_file(find_file(text) if path.suffix == ".py" else path, separator + name)
        mine = self._folder / path
        if ".." in path.parts:
            mine = mine.parent.resolve() / mine.name
        inside = self._path_in_revision(mine, path)
        found = [place.look(inside) if inside else "" for place in self._places]
        if not (mine.is_file() or any(found) or path.suffix == ".py" or os.sep in text):
            return self._settle_module(target)
        if self._is_mine(mine, inside, found):
            self.notes.append(f"{text} is read from {mine} for every revision")
            return self._use_own_file(mine, separator + name)
        self._check(text, mine, found)
        self.notes += self._doubts(text, mine, found)
        return f"{inside}{separator}{name}"

    def _is_mine(self, mine: Path, inside: str, found: Sequence[str]) -> bool:
        if self._choice == HERE and not mine.exists():
            raise TargetError(
                f"there is no file {mine}", remedy="--targets-from here takes targets from the present folder"
            )
        if self._choice != AUTO or not mine.exists():
            return self._choice == HERE
        if not (found and all(found)):
            return True
        if self._repository is None:  # folders as they are, and each has it
            return False
        return not mine.is_relative_to(self._repository.root) or not self._is_tracked(inside)

    def _is_tracked(self, inside: str) -> bool:
        assert self._repository is not None
        return bool(self._repository.content_id("HEAD" if self._repository.kind == "git" else ".", inside))

    def _path_in_revision(self, mine: Path, path: Path) -> str:
        """The path from the root of a revision; "" for one that leads out of it."""
        if self._repository is not None and mine.exists():
            real, root = Path(os.path.normpath(mine)), self._repository.root
            if real.is_relative_to(root):
                return real.relative_to(root).as_posix()
        plain = Path(os.path.normpath(path)).as_posix()
        return "" if plain.startswith("..") else plain

    def _use_own_file(self, file: Path, rest: str) -> str:
        if file.suffix == ".py":
            self.folders[str(file.parent)] = None
        return f"{file}{rest}"

    def _settle_module(self, target: str) -> str:
        """A module by its name. One that only the user has is found in the user's folder, behind everything else."""
        named = _DOTTED.fullmatch(target)
        if named is None or self._choice == REVISION:
            return target
        names = (named[1], f"{named[1]}.py", f"src/{named[1]}", f"src/{named[1]}.py")
        here = any((self._folder / name).exists() for name in names[:2])
        if here and self._places and not any(place.look(name) for place in self._places for name in names):
            self.folders[str(self._folder)] = None
            self.notes.append(f"{named[1]} is read from {self._folder} for every revision")
        return target

    def _check(self, text: str, mine: Path, found: Sequence[str]) -> None:
        lacking = [place.label for place, there in zip(self._places, found, strict=True) if not there]
        if not lacking or (any(found) and not self._everywhere) or self._choice == REVISION:
            return
        if not (any(found) or text.endswith(".py")):
            return  # a model, say, that a build makes
        who = " and ".join(lacking)
        raise TargetError(
            f"there is no file {text}: not in {mine.parent}, and not in {who}",
            remedy="name the path of a file of your own, which is then used for every revision; "
            "where a build makes it, --targets-from revision looks for it afterwards",
        )

    def _doubts(self, text: str, mine: Path, found: Sequence[str]) -> Iterator[str]:
        have = [place for place, there in zip(self._places, found, strict=True) if there]
        if self._everywhere and len({there for there in found if there}) > 1:
            names = " and ".join(place.label for place in have)
            yield f"{text} differs between {names}, so a difference may come from the benchmark; {_FLAG}"
        elif mine.exists():
            yield f"{text} is each revision's own; {_FLAG}"
