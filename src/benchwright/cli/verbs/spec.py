"""`benchwright spec`: look at a spec before anything runs, and bring an older one over."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchwright.cli.options import RenamedOption, force_option, json_option, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchwright.targets.specs.places import SpecProblem


@click.group("spec")
def command() -> None:
    """Specs: what a model is and how to test it, in one file for every runtime."""


@command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--no-network",
    cls=RenamedOption,
    before=["--offline"],
    is_flag=True,
    help="Do not look at what is behind addresses.",
)
@json_option
def check(files: tuple[str, ...], no_network: bool, as_json: bool) -> int:
    """Check spec files, ours and FAI-PEP's, or every one in a folder. Exit code 2 when one has an error."""
    from benchwright.targets.specs import folders
    from benchwright.targets.specs.check import check as check_spec
    from benchwright.targets.specs.places import errors

    paths = [
        each for file in files for each in (folders.spec_files(Path(file)) if Path(file).is_dir() else [Path(file)])
    ]
    problems = [problem for path in paths for problem in check_spec(path, offline=no_network, check_older=_check_older)]
    wrong = len(errors(problems))
    if as_json:
        print_json("spec-check", {"files": [str(path) for path in paths], "problems": problems})
    else:
        for problem in problems:
            click.echo(str(problem))
        checked = "1 file" if len(paths) == 1 else f"{len(paths)} files"
        click.echo(f"{checked}: {'no errors' if not wrong else '1 error' if wrong == 1 else f'{wrong} errors'}")
    return 2 if wrong else 0


def _check_older(path: Path, no_network: bool) -> list[SpecProblem]:
    from benchwright.compat.harness.specs.check import check

    return check(path, offline=no_network)


@command.command("convert")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="The file to write. Default: printed.")
@force_option
def convert(file: str, output: str | None, force: bool) -> int:
    """Print a spec of FAI-PEP's form in ours. What could not be carried over is told on standard error."""
    from benchwright.compat.harness.specs.conversion import convert as converted
    from benchwright.errors import OptionError
    from benchwright.targets.specs.places import to_yaml

    value, problems = converted(Path(file))
    text = to_yaml(value)
    for problem in problems:
        sys.stderr.write(f"benchwright: {problem}\n")
    if output is None:
        click.echo(text, nl=False)
        return 0
    try:
        with Path(output).open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise OptionError(f"{output} is there already", remedy="give another name, or --force") from None
    except OSError as error:
        raise OptionError(f"{output}: {error.strerror}", remedy="give a place that can be written to") from None
    return 0


@command.command("schema")
def schema_() -> None:
    """Print the JSON Schema of spec files, for editors."""
    from benchwright.targets.specs import form

    click.echo(form.render(), nl=False)
