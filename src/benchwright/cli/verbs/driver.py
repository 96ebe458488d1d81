"""`benchwright driver`: the Deep Learning Benchmark driver's command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, store_option
from benchwright.compat.driver import remove_result_file

if TYPE_CHECKING:
    from benchwright.records import Run


class _DriverCommand(click.Command):
    """Removes an earlier run's result file before the command line is read: this run did not write it.

    `--help` runs nothing, so it removes nothing.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--help" not in args:
            remove_result_file(Path.cwd())
        return super().parse_args(ctx, args)


@click.command(cls=_DriverCommand)
@click.option("--task-name", required=True, help="The task to run; also names the log, TASK.log.")
@click.option("--num-gpus", type=int, help="GPUs to use and to watch; rewrites --gpus N in the command, 0 removes it.")
@click.option("--epochs", type=int, help="Rewrites --epochs N in the command.")
@click.option("--kvstore", help="Rewrites --kvstore device in the command.")
@click.option("--dtype", help="Rewrites --dtype float32 in the command.")
@click.option("--framework", help="Goes in front of every key of the result.")
@click.option("--metrics-suffix", help="Goes behind every key of the result.")
@click.option(
    "--task-file",
    "--metrics-template",
    metavar="FILE",
    help="Tasks, in the older form or ours. Default: task_config_template.cfg here, else tasks.toml.",
)
@click.option("--metrics-policy", metavar="SECTION", help="The section that has the patterns. Default: the task's own.")
@click.option("--command-to-execute", metavar="LINE", help="A shell line instead of the section's command.")
@click.option("--data-set", help="Accepted for older command lines; nothing is downloaded.")
@click.option("--timeout", metavar="SECONDS", help="End a task that takes longer. Default: the task's own, else a day.")
@click.option("--no-save", is_flag=True, help="Keep nothing in the store.")
@store_option
@json_option
def command(**given: Any) -> int:
    """Run one task of a task file and write dlbenchmark_result.json here.

    The flags rewrite a command of the older form; in our own form they are parameters, which the task declares. The
    result file of an earlier run is removed first. Exit code 1 when the task failed or a metric is missing.
    """
    from benchwright.cli.progress import ProgressLine
    from benchwright.cli.views import exit_code
    from benchwright.compat.driver import result_file
    from benchwright.compat.driver.run import DriverRequest, drive
    from benchwright.workflows import arguments

    remove_result_file(Path.cwd())  # when --help was the value of a flag
    names = ("task_name", "num_gpus", "epochs", "kvstore", "dtype", "task_file", "metrics_policy")
    asked = DriverRequest(
        **{name: given[name] for name in names},
        command=given["command_to_execute"],
        timeout=arguments.positive(given["timeout"], "s", "--timeout") if given["timeout"] else None,
    )
    unkept: list[Exception] = []
    with ProgressLine(sys.stderr) as progress:
        run = drive(asked, store=given["store"], save=not given["no_save"], listener=progress, tell=unkept.append)
    (result,) = run.results
    found = result_file.keys(result, asked.task_name, framework=given["framework"], suffix=given["metrics_suffix"])
    result_file.write(Path.cwd(), found)
    _show(run, asked.task_name, found, as_json=given["as_json"])
    for error in unkept:
        sys.stderr.write(f"benchwright: {error}\n")
    return 1 if unkept else exit_code(run)


def _show(run: Run, task: str, found: dict[str, float], *, as_json: bool) -> None:
    from benchwright import schema
    from benchwright.compat.driver.run import log_name

    if as_json:
        click.echo(schema.dumps(run, indent=2))
    else:
        for key, value in found.items():
            click.echo(f"{key} {value}")
    (result,) = run.results
    for warning in result.warnings:
        sys.stderr.write(f"benchwright: warning {warning.code}: {warning.seen}\n  {warning.remedy}\n")
    if result.error is not None:
        sys.stderr.write(f"benchwright: {result.status}: {result.error.message}\n  see {log_name(task)}\n")
