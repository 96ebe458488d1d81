"""`benchwright harness`: the command line of FAI-PEP's harness.py."""

from __future__ import annotations

import sys

import click

from benchwright.cli.options import OlderCommand, asks_for_help


@click.command(
    cls=OlderCommand,
    flags="benchwright.compat.harness.flags",
    is_help=asks_for_help,
    options_metavar="-b FILE --framework NAME --platform NAME --model_cache DIR [FLAGS]...",
)
@click.pass_context
def command(context: click.Context) -> int:
    """FAI-PEP's harness.py with all of its flags: the tests of a model spec, or of a list of specs, on each device.

    \b
    benchwright harness -b spec.json --framework caffe2 --platform host --model_cache cache \\
        --info '{"treatment": {"commit": "abc", "programs": {"program": {"location": "./caffe2_benchmark"}}}}' \\
        --local_reporter reports --screen_reporter

    With a control in --info each test is run with both programs, and the difference is reported. The frameworks
    onnxruntime, openvino, torch, tensorflow, litert and jax run the model file itself and need no program.

    With --lab the machines of a server's lab measure it, as run_remote.py had it: those that --devices names, or all of
    the platform. --list_devices, --fetch_status, --fetch_result and --kill ask about it.

    Exit code 1 when a test failed or ran out of time, or a reporter failed; 2 when the request or a spec is wrong.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.compat.harness.door import main

    return main(context.args, lambda: ProgressLine(sys.stderr))
