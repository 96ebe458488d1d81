"""`benchwright operators`: the view `benchwright show --operators`, under the name that scripts know."""

from __future__ import annotations

from typing import Any

import click

from benchwright.cli.options import force_option, json_option, picture_option, store_option
from benchwright.cli.views import operator_options, show_operators


@click.command("operators")
@click.argument("run", default="last", metavar="[RUN]")
@click.argument("after", default="", metavar="[RUN]")
@operator_options
@picture_option("a picture, .svg, .html or .png.")
@force_option
@store_option
@json_option
def command(run: str, after: str, **given: Any) -> int:
    """Where the time of a model goes: the operators of RUN (default: the last), recorded with `run --operators`.

    With two runs, what changed from the first to the second, and which operators are behind a change of the latency.
    Exits with 1 when the latency became worse. Another name of `benchwright show RUN [RUN] --operators`.
    """
    return show_operators(run, after, **given)
