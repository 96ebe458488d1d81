"""`benchwright check`: the gate of `benchwright compare`, under the name that scripts know."""

from __future__ import annotations

from typing import Any

import click

from benchwright.cli.gate import AGAINST, CONDITIONS, GateRequest, gate_options, open_gate
from benchwright.cli.options import json_option, markdown_option, smallest_option, store_option


@click.command("check", epilog=CONDITIONS)
@click.argument("run", default="last", metavar="[RUN]")
@click.option("--against", required=True, metavar="WHAT", help=AGAINST)
@smallest_option
@markdown_option
@gate_options
@store_option
@json_option
def command(**given: Any) -> int:
    """Whether RUN (default: the last) may pass: another name of `benchwright compare RUN --against WHAT`.

    Exits with 0 when it may, with 1 when a condition of --fail-on is met, with 2 when the request is wrong.
    """
    return open_gate(GateRequest(**given))
