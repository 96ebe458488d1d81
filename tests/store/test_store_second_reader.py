"""A second process that reads: what it hands over is what this one would have read, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, signal, sys
from contextlib import closing
import series_of_runs as runs
from benchwright.errors import BenchwrightError
from benchwright.store.files import second_reader, transfer
from benchwright.store.sql import SqlStore

folder = sys.argv[1]
many = [runs.run_of(number, 0.5 + number / 100) for number in range(40)]
with closing(SqlStore(f"sqlite:///{folder}/source.db")) as source:
    for run in many:
        source.add_run(run)
    transfer.export_runs(source, [run.id for run in many], f"{folder}/runs.jsonl")
lines = open(f"{folder}/runs.jsonl").read().splitlines()
open(f"{folder}/bad.jsonl", "w").write("\\n".join([*lines[:30], lines[30][:-9], *lines[31:]]))
transfer.WORTH = 0




def imported(name, file):
    with closing(SqlStore(f"sqlite:///{folder}/{name}.db")) as store:
        try:
            summary = transfer.import_runs(store, f"{folder}/{file}.jsonl")
            said = summary.added
        except BenchwrightError as error:
            said = str(error)
        return said, [store.run(name) for name in sorted(store.run_ids())]


os.cpu_count = lambda: 1
alone = {file: imported(f"alone-{file}", file) for file in ("runs", "bad")}
os.cpu_count = lambda: 2
assert second_reader.can_help()
parent, prepare = os.getpid(), transfer._prepare_parts
where = []
SecondReader = second_reader.SecondReader


class Noted(SecondReader):
    def close(self):
        super().close()
        where.append(self.is_whole)


second_reader.SecondReader = Noted
helped = {file: imported(f"helped-{file}", file) for file in ("runs", "bad")}
assert helped == alone, helped
assert len(alone["runs"][1]) == 40 and len(alone["bad"][1]) == 30 and "bad.jsonl:31" in alone["bad"][0]
assert where == [True, False]


def killed(path):
    for number, parts in enumerate(prepare(path)):
        if number == 17:
            os.kill(os.getpid(), signal.SIGKILL)
        yield parts


transfer._prepare_parts = killed
assert imported("killed", "runs") == alone["runs"]
assert where == [True, False, False]
try:
    os.wait()
    raise AssertionError("a process was left")
except ChildProcessError:
    print("all is well")
"""


def test_what_a_second_process_reads_is_what_this_one_reads_however_it_ends(root: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={"PYTHONPATH": str(root / "tests" / "support"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "all is well\n", done.stderr
