"""`benchwright report`: a single-file HTML report, or the dashboard as a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
from click.core import ParameterSource

from benchwright import config
from benchwright.cli.options import json_option, print_json, store_option
from benchwright.errors import OptionError
from benchwright.store import open_configured_store


@click.command("report")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@store_option
@json_option
@click.option(
    "-o",
    "--output",
    default="benchwright-report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.",
)
@click.option("--svg", type=click.Path(path_type=Path, file_okay=False), help="Also write each plot into this folder.")
@click.option(
    "--site",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the dashboard into this folder instead, to publish anywhere; no server is needed.",
)
@click.option(
    "--runs",
    "newest",
    type=click.IntRange(min=1),
    default=None,
    help="For --site: how many of the newest runs. Default: 50.",
)
@click.option("--open", "opens", is_flag=True, help="Open it in your browser: what was written.")
@click.option("--force", is_flag=True, help="Replace what is there: also a file or a folder that is not Benchwright's.")
def command(
    runs: tuple[str, ...],
    store: str | None,
    as_json: bool,
    output: Path,
    svg: Path | None,
    site: Path | None,
    newest: int | None,
    opens: bool,
    force: bool,
) -> None:
    """Write a single-file HTML report of one or more runs (default: the last). The first is the others' baseline.

    With --site DIR, write all pages of the dashboard with the data of the newest runs, for any web space or a disk.
    """
    if site is not None:
        asked = click.get_current_context().get_parameter_source("output")
        if svg is not None or asked is ParameterSource.COMMANDLINE:
            raise click.UsageError("-o and --svg go with a report; --site writes a folder of its own")
        _publish(site, store, runs, newest, force=force, as_json=as_json)
        if opens:
            _open(site / "index.html")
        return
    if newest is not None:
        raise click.UsageError("--runs goes with --site; a report names its runs")
    from benchwright.exchange.named_runs import find_runs
    from benchwright.report.html import check_target, write_html
    from benchwright.report.plots import write_svgs
    from benchwright.store.files.transfer import read_runs
    from benchwright.vcs.forges import load_projects

    check_target(output, force)
    found = [
        run for name in runs or ("last",) for run in find_runs(name, lambda: open_configured_store(store), read_runs)
    ]
    written = [write_html(found, output, force=force, projects=load_projects(config.store_url(store)))]
    if svg:
        written += [path for run in found for path in write_svgs(run, svg)]
    if as_json:
        print_json("report", {"written": [str(path) for path in written]})
    else:
        click.echo("\n".join(f"wrote {path} ({path.stat().st_size / 1024:,.0f} KiB)" for path in written))
    if opens:
        _open(output)


def _open(page: Path) -> None:
    """Shows a page to whoever sits here; a machine without a browser says what to open elsewhere."""
    import webbrowser

    if not webbrowser.open(page.absolute().as_uri()):
        click.echo(f"no browser was found here: open {page} where there is one", err=True)


def _publish(
    site: Path, store: str | None, named: tuple[str, ...], newest: int | None, *, force: bool, as_json: bool
) -> None:
    from contextlib import closing
    from dataclasses import asdict

    from benchwright.pages.site import RUNS, publish
    from benchwright.store.sql import SqlStore
    from benchwright.vcs.forges import load_projects

    if named:
        raise click.UsageError("a site holds the newest runs: --runs says how many")
    with closing(open_configured_store(store)) as archive:
        if not isinstance(archive, SqlStore):
            raise OptionError(
                "a site is made from a database", remedy="run this where the server's database is, with --store FILE"
            )
        counts = publish(
            archive,
            site,
            runs=newest or RUNS,
            force=force,
            on_answer=_page_counter(),
            projects=load_projects(config.store_url(store)),
            link=config.load().notify.link,
        )
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)
    if as_json:
        print_json("site", {"site": str(site), **asdict(counts)})
    else:
        size = counts.size / 1024
        told = f"{counts.written} files written, {counts.unchanged} unchanged, {counts.removed} removed"
        click.echo(f"wrote {site / 'index.html'} ({size:,.0f} KiB in all; {told})")


def _page_counter() -> Callable[[int], None]:
    """Returns a listener that shows on a terminal how many pages are written."""
    if not sys.stderr.isatty():
        return lambda done: None
    return lambda done: click.echo(f"\r{done} pages", nl=False, err=True) if done % 10 == 0 else None
