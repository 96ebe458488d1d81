"""`benchwright init`: finds what there is to measure in a project, and writes it into `benchwright.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import force_option, json_option, print_json

if TYPE_CHECKING:
    from benchwright.targets.projects import FoundProject, FoundTarget

_MOST_SHOWN = 40


@click.command("init")
@click.argument("folder", default=".", metavar="[FOLDER]", type=click.Path(path_type=Path))
@click.option("--print", "only_print", is_flag=True, help="Print the file that would be written: benchwright.toml.")
@force_option
@json_option
def command(folder: Path, only_print: bool, force: bool, as_json: bool) -> int:
    """Find what there is to measure in FOLDER (default: here): benchmark functions and classes, models, suites of asv
    and pytest, task files, model specs. Write `benchwright.toml` with it, and say what to do next.

    Files are read and nothing of the project is imported or run. What git ignores is left out. A `benchwright.toml`
    that is there already is kept, unless --force is given.
    """
    from benchwright.errors import OptionError
    from benchwright.targets.projects import SETTINGS, find_targets
    from benchwright.workflows import first_settings

    place = folder.resolve()
    if not place.is_dir():
        raise OptionError(f"there is no folder {folder}", remedy="name the folder of a project")
    if (place / SETTINGS).exists() and not (force or only_print):
        raise OptionError(
            f"{folder / SETTINGS} is there already",
            remedy="--print shows what a new one would hold, --force replaces it",
        )
    found = find_targets(place)
    if only_print and not as_json:
        click.echo(first_settings.settings_text(found), nl=False)
        return 0
    path = None if only_print else first_settings.write_settings(found, force=force)
    if as_json:
        print_json("project", _document(found, path))
        return 0
    _show(found, folder)
    return 0


def _document(found: FoundProject, path: Path | None) -> dict[str, object]:
    from benchwright import schema
    from benchwright.workflows.first_settings import active_targets

    return {
        "folder": str(found.folder),
        "files": found.files,
        "targets": [schema.encode(one) for one in found.targets],
        "measured": [one.target for one in active_targets(found)],
        "unread": list(found.unread),
        "cut": found.cut,
        "written": str(path) if path else None,
    }


def _show(found: FoundProject, folder: Path) -> None:
    from benchwright.units.numbers import printable
    from benchwright.workflows import first_settings

    if found.targets:
        click.echo(f"Found in {printable(str(found.folder))}:")
        _show_targets(found.targets)
    else:
        click.echo(f"Found nothing to measure in {printable(str(found.folder))}.")
    if found.unread:
        click.echo(f"{len(found.unread)} Python files could not be read, such as {printable(found.unread[0])}.")
    if found.cut:
        click.echo(f"There may be more: {found.cut}.")
    click.echo(f"\nWrote {printable(str(folder / 'benchwright.toml'))}: change it as you like.")
    if above := first_settings.settings_above(found.folder):
        click.echo(f"{printable(str(above))} no longer counts in this folder.")
    if not first_settings.store_is_ignored(found.folder):
        click.echo("Add .benchwright/ to .gitignore: results are kept there.")
    click.echo(f"Next: {_next_command(found, folder)}")


def _show_targets(targets: tuple[FoundTarget, ...]) -> None:
    from benchwright.units.numbers import printable

    width = min(max(len(one.target) for one in targets[:_MOST_SHOWN]), 60)
    for one in targets[:_MOST_SHOWN]:
        click.echo(f"  {printable(one.target):<{width}}  {printable(one.about)}")
        if one.lacks:
            click.echo(f"  {'':<{width}}  not measured: {printable(one.lacks.splitlines()[0])}")
    if len(targets) > _MOST_SHOWN:
        click.echo(f"  and {len(targets) - _MOST_SHOWN} more")


def _next_command(found: FoundProject, folder: Path) -> str:
    import shlex

    from benchwright.workflows.first_settings import active_targets

    there = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    if active_targets(found):
        return f"{there}benchwright run"
    if tests := [one for one in found.targets if one.kind == "pytest"]:
        return f"{there}{_pytest_command([one.target for one in tests])}"
    if found.targets:
        return "see above what each of them lacks, or name another target: benchwright run TARGET"
    return "benchwright run model.onnx, bench.py::function or -- ./program; see benchwright run --help"


def _pytest_command(files: Sequence[str]) -> str:
    """What runs the benchmarks of all these files: of several, the folder that holds them, without its other tests."""
    import os
    import shlex

    if len(files) == 1:
        return f"pytest {shlex.quote(files[0])}"
    return " ".join(["pytest --benchmark-only", shlex.quote(os.path.commonpath(files))]).removesuffix(" ''")
