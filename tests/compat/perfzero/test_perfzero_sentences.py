"""The sentences that people's scripts look for in PerfZero's console and logs, word for word."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

OK, RAISE = "demo_bench.Demo.benchmark_ok", "demo_bench.Demo.benchmark_raise"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
# (the level of the record, "" for a bare line; what it says), in this order. Places are filled in below.
CONSOLE = [
    ("INFO", "Adding path demo to sys.path"),
    ("INFO", "Created directory {workspace}/output"),
    ("INFO", "Downloading data from file://{source} to {data}/ds.tar.gz"),
    ("INFO", "Downloaded data from file://{source} to {data}/ds.tar.gz"),
    ("INFO", "Decompressed file {data}/ds.tar.gz"),
    ("INFO", "Checking out repository from file://{repository} to {workspace}/site-packages/lib1"),
    ("INFO", "Checked-out repository from file://{repository} to {workspace}/site-packages/lib1"),
    ("INFO", f"The following benchmark methods will be executed: ['{OK}', '{RAISE}']"),
    ("", "Setup complete. Running 1 trials"),
    ("", "Running trial 1 / 1"),
    ("INFO", "Created directory {workspace}/output/e"),
    ("INFO", f"Starting benchmark execution: {OK}"),
    ("INFO", f"Stopped benchmark: {OK}"),
    ("INFO", f"Benchmark execution for {OK} completed with summary:\n {{"),
    ("INFO", "Wrote summary to file {workspace}/output/e/perfzero_summary.json"),
    ("INFO", "Uploaded data from local directory {workspace}/output/e to gcs file://{away}"),
    ("INFO", f"Starting benchmark execution: {RAISE}"),
    ("ERROR", f"Benchmark execution for {RAISE} failed due to error:\n Traceback (most recent call last):\n"),
    ("INFO", f"Benchmark execution for {RAISE} completed with summary:\n {{"),
    ("", "Benchmark execution time in seconds by operation:\n"),
    ("", "Benchmark success results:\n{"),
    ("", "Benchmark local output directories:\n{"),
]
# What perfzero.log of a method holds, in this order.
LOG = {
    OK: [
        f"INFO: Starting benchmark execution: {OK}\n",
        "INFO: a record of the method\n",
        f"INFO: Stopped benchmark: {OK}\n",
        f"INFO: Benchmark execution for {OK} completed with summary:\n {{\n",
        "INFO: Wrote summary to file ",
    ],
    RAISE: [
        f"INFO: Starting benchmark execution: {RAISE}\n",
        f"ERROR: Benchmark execution for {RAISE} failed due to error:\n Traceback (most recent call last):\n",
        "\nRuntimeError: boom\n",
        f"INFO: Benchmark execution for {RAISE} completed with summary:\n {{\n",
        "INFO: Wrote summary to file ",
    ],
}


def test_console_and_logs_say_it_as_perfzero_does(project: Any, tmp_path: Path) -> None:
    """A run that does a little of everything."""
    packed, repository = tmp_path / "ds.tar.gz", tmp_path / "lib1.git"
    (tmp_path / "ds").mkdir()
    subprocess.run(["tar", "czf", packed, "-C", tmp_path, "ds"], check=True)
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "one"], cwd=repository, check=True)
    ended = project.run(
        f"--benchmark_methods={OK},{RAISE}",
        "--execution_id=e",
        f"--data_downloads=file://{packed}",
        f"--git_repos=file://{repository}",
        f"--output_gcs_url=file://{tmp_path}/away",
    )
    assert ended.code == 1, ended.err
    places = {"workspace": project.workspace, "source": packed, "data": project.data, "repository": repository}
    _check_console(ended.out, {**places, "away": tmp_path / "away"})
    for summary in ended.summaries():
        text = (ended.output / summary["execution_id"] / "perfzero.log").read_text()
        found = [text.find(sentence) for sentence in LOG[summary["benchmark_result"]["name"]]]
        assert -1 not in found and found == sorted(found), (found, text)
        whole, _ = json.JSONDecoder().raw_decode(text.partition("completed with summary:\n ")[2])
        assert whole == summary


def _check_console(shown: str, places: Mapping[str, Path]) -> None:
    for level, sentence in CONSOLE:
        words = sentence
        for name, place in places.items():
            words = words.replace(f"{{{name}}}", str(place))
        begin = rf"^{STAMP} {level}: " if level else "^"
        found = re.search(begin + re.escape(words), shown, re.MULTILINE)
        assert found, f"{words!r} is not in\n{shown}"
        shown = shown[found.start() + 1 :]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--nope"], "Arguments ['--nope'] are not recognized"),
        (["--data_downloads=gcs://b/x"], "Url gcs://b/x with prefix gcs is not supported."),
    ],
)
def test_a_wrong_request_is_refused_in_perfzeros_words(project: Any, arguments: list[str], sentence: str) -> None:
    ended = project.run(*arguments, f"--benchmark_methods={OK}")
    assert ended.code == 1
    assert re.search(rf"^{STAMP} ERROR: {re.escape(sentence)}$", ended.err, re.MULTILINE)


def test_a_profile_is_told_in_perfzeros_words(project: Any) -> None:
    ended = project.run("--benchmark_methods=demo_bench.Demo.benchmark_traced", "--execution_id=e")
    folder = project.workspace / "output" / "e" / "profiler_data"
    assert (
        "\nExecute the command below to start tensorboard server using the collected profiler data:\n"
        f"tensorboard --logdir={folder}\n\n"
        "Open localhost:6006 in your browser to access the Tensorbord GUI. "
        "Use ssh with port forwarding if tensorboard is running on a remote machine.\n"
    ) in ended.out
