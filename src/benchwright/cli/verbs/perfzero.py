"""`benchwright perfzero`: PerfZero's command line, handed on untouched."""

from __future__ import annotations

import click


class _Untouched(click.Command):
    """Leaves every word to the door: its flags are PerfZero's, and not click's to read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] in (["--help"], ["-h"]):
            return super().parse_args(ctx, ["--help"])
        ctx.args = list(args)
        return ctx.args

    def get_help(self, ctx: click.Context) -> str:
        from benchwright.compat.perfzero.flags import help_text

        return f"{super().get_help(ctx)}\n\n{help_text().rstrip()}"


@click.command(cls=_Untouched, options_metavar="[FLAGS]... | setup | cloud | plot | diff | shims")
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
