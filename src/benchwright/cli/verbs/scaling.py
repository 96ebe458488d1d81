"""`benchwright scaling`: the view `benchwright show --scaling`, under the name that scripts know."""

from __future__ import annotations

from typing import Any

import click

from benchwright.cli.options import force_option, json_option, picture_option, store_option
from benchwright.cli.views import scaling_options, show_scaling


@click.command()
@click.argument("run", default="last", metavar="[RUN]")
@scaling_options
@picture_option("a picture, .png, .svg or .pdf.")
@force_option
@store_option
@json_option
def command(run: str, **given: Any) -> None:
    """Throughput against latency of RUN's cases (default: the last), speed-up against their number of processes, and
    which of them to choose for what.

    Another name of `benchwright show RUN --scaling`.
    """
    show_scaling(run, **given)
