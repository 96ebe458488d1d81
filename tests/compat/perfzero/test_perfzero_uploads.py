"""Uploads: after the summary is written, all of them tried, their failures told and repeatable."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.perfzero import uploads
from benchwright.errors import OptionError
from benchwright.records import Run

OK = "--benchmark_methods=demo_bench.Demo.benchmark_ok"
HOOKS = """
import json, pathlib

def keep(summary):
    pathlib.Path(summary["benchmark_info"]["env_vars"]["PERFZERO_KEEP"]).write_text(json.dumps(summary))

def fail(summary):
    raise RuntimeError("no such server")
"""


def test_the_output_folder_is_copied_whole(project: Any, tmp_path: Path) -> None:
    ended = project.run(OK, f"--output_gcs_url=file://{tmp_path}/away", "--execution_id=e")
    assert ended.code == 0, ended.err
    here, there = ended.output / "e", tmp_path / "away" / "e"
    assert {p.name: p.read_bytes() for p in there.iterdir()} == {p.name: p.read_bytes() for p in here.iterdir()}
    assert ended.summary("e")["benchmark_info"]["output_url"] == f"file://{tmp_path}/away/e/"


def test_a_failing_upload_leaves_the_truth_alone_and_can_be_repeated(project: Any, tmp_path: Path) -> None:
    """Defects 3 and 7."""
    project.add("demo", "hooks.py", HOOKS)
    away, kept = tmp_path / "away", tmp_path / "kept.json"
    away.write_text("a file where a folder should be")
    wanted = [
        OK,
        f"--output_gcs_url=file://{away}",
        "--result_upload_methods=hooks.fail,hooks.keep",
        "--execution_id=e",
    ]
    ended = project.run(*wanted, env={"PERFZERO_KEEP": str(kept)})
    assert ended.code == 1
    summary = ended.summary("e")
    assert summary["benchmark_info"]["has_exception"] is False
    assert summary["benchmark_result"]["succeeded"] is True
    assert ended.block("Benchmark success results:")["trial_1"] == {"demo_bench.Demo.benchmark_ok": True}
    assert json.loads(kept.read_text()) == summary
    assert "RuntimeError: no such server" in ended.err
    told = next(line for line in ended.err.splitlines() if "; to repeat: benchwright " in line)
    again = [sys.executable, "-m", "benchwright", *shlex.split(told.partition("; to repeat: benchwright ")[2])]
    assert again[-2:] == ["--store", str(project.folder / ".benchwright" / "results.db")] and "last" not in again
    failed = subprocess.run(again, cwd=project.folder, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "no such server" in failed.stderr
    away.unlink()
    project.add("demo", "hooks.py", HOOKS.replace('raise RuntimeError("no such server")', "pass"))
    done = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["hooks.fail, hooks.keep", f"file://{away}/e/", ""]
    assert json.loads((away / "e" / "perfzero_summary.json").read_text()) == summary


def _upload(project: Any, *arguments: str, cwd: Path | None = None, **environment: str) -> Any:
    command = [sys.executable, "-m", "benchwright", "upload", *arguments]
    return subprocess.run(
        command,
        cwd=cwd or project.folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.soak
def test_an_earlier_run_is_not_sent_with_the_files_of_a_later(project: Any, tmp_path: Path) -> None:
    away = tmp_path / "away"
    for label in ("first", "second"):
        flags = [f"--output_gcs_url=file://{away}", "--execution_id=e", f"--execution_label={label}"]
        assert project.run(OK, *flags).code == 0
    shutil.rmtree(away)
    ended = _upload(project, "first")
    assert ended.returncode == 1
    assert "holds other files now than this run left there" in ended.stderr
    assert not away.exists()
    ended = _upload(project, "second", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["data"]["sent"]) == (0, [f"file://{away}/e/"])
    assert _upload(project, "first", "--to", "there").returncode == 1
    assert [path.name for path in (project.folder / "there").glob("*/*")] == ["run.json"]


@pytest.mark.soak
def test_a_hook_of_the_present_folder_and_the_key_are_found_again(project: Any, tmp_path: Path) -> None:
    (project.folder / "local_hooks.py").write_text(
        "import os, pathlib\n\ndef keep(summary):\n"
        "    pathlib.Path(os.environ['KEPT']).write_text(os.environ['GOOGLE_APPLICATION_CREDENTIALS'])\n"
    )
    (tmp_path / "mykey.json").write_text("{}")
    kept = tmp_path / "kept"
    flags = ["--result_upload_methods=local_hooks.keep", f"--gcloud_key_file_url=file://{tmp_path}/mykey.json"]
    environment = {"KEPT": str(kept), "PATH": ""}
    assert project.run(OK, "--python_path=demo", *flags, base=False, env=environment, apart=True).code == 0
    key = kept.read_text()
    kept.unlink()
    store = f"--store={project.folder}/.benchwright/results.db"
    ended = _upload(project, "last", store, cwd=tmp_path, **environment)
    assert (ended.returncode, ended.stdout) == (0, "local_hooks.keep\n"), ended.stderr
    assert kept.read_text() == key == str(project.workspace / "mykey.json")
    assert _upload(project, "last", "--to", "there").returncode == 0
    (document,) = (project.folder / "there").glob("*/run.json")
    assert "mykey" not in document.read_text()


def test_an_address_whose_secrets_are_gone_is_not_used(project: Any) -> None:
    ended = project.run(OK, "--output_gcs_url=ftp://me:geheim@127.0.0.1:1/x", "--execution_id=e")
    assert ended.code == 1 and "geheim" not in ended.out + ended.err
    again = _upload(project, "last")
    assert again.returncode == 1
    assert "ftp://***@127.0.0.1:1/x: the secrets of this address are not kept" in again.stderr
    assert "--to URL" in again.stderr


@pytest.mark.parametrize(
    ("named", "table"),
    [
        ("my_benchmark_results.t", "my_benchmark_results/tables/t"),
        ("benchmark_results.t", "perfzero/tables/benchmark_summary"),
        ("benchmark_results_dev.t", "perfzero_dev/tables/benchmark_summary"),
    ],
)
def test_a_row_goes_to_the_table_that_is_meant(project: Any, named: str, table: str) -> None:
    """Defect 8."""
    asked: list[tuple[str, Any]] = []

    class Peer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, json.loads(body)))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Peer) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        address = f"http://127.0.0.1:{http.server_address[1]}"
        flags = [f"--bigquery_dataset_table_name={named}", "--bigquery_project_name=p", "--execution_id=e"]
        ended = project.run(OK, *flags, env={"BIGQUERY_EMULATOR_HOST": address})
        http.shutdown()
        thread.join()
    assert ended.code == 0, ended.err
    ((path, body),) = asked
    assert f"/{table}/" in path
    assert "INFO: Uploaded benchmark result to the table " in ended.out
    row, summary = body["rows"][0]["json"], ended.summary("e")
    assert row["execution_id"] == "e"
    assert json.loads(row["benchmark_result"]) == summary["benchmark_result"]


@pytest.mark.parametrize(
    ("module", "flags", "extra"),
    [
        ("google", ["--bigquery_project_name=p", "--bigquery_dataset_table_name=d.t"], "benchwright[bigquery]"),
        ("gcsfs", ["--output_gcs_url=gs://bucket/place"], "benchwright[data]"),
        ("fsspec", ["--output_gcs_url=gs://bucket/place"], "benchwright[data]"),
    ],
)
def test_a_missing_package_is_told_before_the_method_runs(
    project: Any, tmp_path: Path, module: str, flags: list[str], extra: str
) -> None:
    (project.site / f"{module}.py").write_text(f"raise ImportError('{module} is not installed')\n")
    seen = tmp_path / "seen"
    ended = project.run(OK, *flags, env={"SEEN": str(seen)}, apart=True)
    assert ended.code == 1
    assert f"pip install '{extra}'" in ended.err
    assert not seen.exists() and not ended.output.exists()


@pytest.mark.parametrize(
    "flags", [["--output_gcs_url=gsx://b/x"], ["--bigquery_project_name=p", "--bigquery_dataset_table_name=table"]]
)
def test_a_place_that_cannot_be_is_told_before_the_method_runs(project: Any, flags: list[str]) -> None:
    ended = project.run(OK, *flags)
    assert ended.code == 1 and not ended.output.exists()


def test_only_runs_of_this_door_can_be_repeated() -> None:
    run = Run(id="r", started_at="", harness="", command=("benchwright", "run", "x"))
    with pytest.raises(OptionError, match="not made by benchwright perfzero"):
        uploads.repeat(run)
    with pytest.raises(OptionError, match="names no place"):
        uploads.repeat(Run(id="r", started_at="", harness="", command=("benchwright", "perfzero")))
