"""`benchwright perfzero`: PerfZero's command line, handed on untouched."""

from __future__ import annotations

import click

from benchwright.cli.options import OlderCommand


@click.command(
    cls=OlderCommand,
    flags="benchwright.compat.perfzero.flags",
    is_help=lambda args: args[:1] in (["--help"], ["-h"]),
    options_metavar="[FLAGS]... | setup | cloud | plot | diff | shims",
)
@click.pass_context
def command(context: click.Context) -> int:
    """PerfZero's benchmark.py with all of its flags: `benchwright perfzero --benchmark_methods=module.Class.method`.

    \b
    perfzero FLAGS        run benchmark classes (benchmark.py)
    perfzero setup ...    build the image (setup.py)
    perfzero cloud ...    instances (cloud_manager.py)
    perfzero plot FILE    draw a process_info.log
    perfzero diff DIR     compare two labels
    perfzero shims DIR    write DIR/perfzero/lib/benchmark.py and its neighbours

    Exit code 1 when a method failed; a bound that does not hold counts with --fail_on_bounds alone.
    """
    from benchwright.compat.perfzero.door import main

    return main(context.args)
