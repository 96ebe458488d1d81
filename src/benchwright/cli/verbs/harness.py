"""`benchwright harness`: the command line of FAI-PEP's harness.py."""

from __future__ import annotations

import sys

import click


class _Untouched(click.Command):
    """Leaves every word to the door: its flags are the older harness's, and not click's to read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any(word in ("--help", "-h") for word in args):
            return super().parse_args(ctx, ["--help"])
        ctx.args = list(args)
        return ctx.args

    def get_help(self, ctx: click.Context) -> str:
        from benchwright.compat.harness.flags import help_text

        return f"{super().get_help(ctx)}\n\n{help_text().rstrip()}"


@click.command(cls=_Untouched, options_metavar="-b FILE --framework NAME --platform NAME --model_cache DIR [FLAGS]...")
@click.pass_context
def command(context: click.Context) -> int:
    """FAI-PEP's harness.py with all of its flags: the tests of a model spec, or of a list of specs, on each device.

    \b
    benchwright harness -b spec.json --framework caffe2 --platform host --model_cache cache \\
        --info '{"treatment": {"commit": "abc", "programs": {"program": {"location": "./caffe2_benchmark"}}}}' \\
        --local_reporter reports --screen_reporter

    With a control in --info each test is run with both programs, and the difference is reported. The frameworks
    onnxruntime, openvino, torch, tensorflow, litert and jax run the model file itself and need no program.

    Exit code 1 when a test failed or ran out of time, or a reporter failed; 2 when the request or a spec is wrong.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.compat.harness.door import main

    return main(context.args, lambda: ProgressLine(sys.stderr))
