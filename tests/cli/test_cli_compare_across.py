"""`benchwright compare --across`: runs with different parameters, from the command line, Python and a server's page."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import benchwright as bw
from benchwright.errors import OptionError
from benchwright.pages.compare import compare as compare_page
from benchwright.store.sql import SqlStore

Call = Callable[..., "subprocess.CompletedProcess[str]"]

TASK = """
[tasks.train]
command = ["sh", "-c", "echo accuracy $(({lr} * {bs}))"]
[tasks.train.parameters]
lr = 1
bs = 8
[tasks.train.metrics]
accuracy = { pattern = 'accuracy (.+)', better = "higher" }
"""


@pytest.fixture
def store(inside: Call, tmp_path: Path) -> Path:
    """Three runs: lr 1, lr 2, and lr 1 and 2 at two batch sizes."""
    (tmp_path / "tasks.toml").write_text(TASK)
    for given in (["--param", "lr=1"], ["--param", "lr=2"], ["--param", "lr=1,2", "--param", "bs=8,16"]):
        ended = inside("run", "tasks.toml", "--rounds", "2", *given)
        assert ended.returncode == 0, ended.stdout
    return tmp_path / ".benchwright" / "results.db"


def test_runs_are_compared_across_a_parameter_in_every_way(inside: Call, store: Path) -> None:
    ended = inside("compare", "last~2", "last~1")
    assert ended.returncode == 2 and "differ in lr" in ended.stderr and "add --across lr" in ended.stderr
    ended = inside("compare", "last~2", "last~1", "--across", "lr", "--metric", "accuracy")
    assert ended.returncode == 0 and "lr=1 → 2" in ended.stdout and "better: 2 times as high" in ended.stdout
    told = json.loads(inside("compare", "last~2", "last~1", "--across", "lr", "--json").stdout)["data"]
    assert told["across"] == ["lr"] and [case["label"] for case in told["cases"]] == ["tasks.toml::train lr=1 → 2"]
    marked = inside("compare", "last~2", "last~1", "--across", "lr", "--markdown").stdout
    assert "across lr" in marked and "lr=1 → 2" in marked
    several = inside("compare", "last~2", "last~1", "last~2", "--across", "lr", "--metric", "accuracy")
    assert several.returncode == 0 and "lr=1 → 2: paired across lr" in several.stdout
    told = json.loads(inside("compare", "last~2", "last~1", "last~2", "--across", "lr", "--json").stdout)["data"]
    assert told["across"] == ["lr"] and len(told["sides"]) == 2

    ended = inside("compare", "--across", "lr", "--metric", "accuracy")  # within the last run
    assert ended.returncode == 0 and "bs=8 lr=1 → 2" in ended.stdout and "bs=16 lr=1 → 2" in ended.stdout
    assert "its cases against the first of them across lr: 2 better" in ended.stdout
    ended = inside("compare", "last", "last~1", "--across", "lr,bs")
    assert ended.returncode == 2 and "several cases are equal but for lr and bs" in ended.stderr
    ended = inside("compare", "last~2", "last~1", "--across", "lr", "--fail-on", "worse")
    assert ended.returncode == 2 and "a gate compares equal cases" in ended.stderr
    assert inside("compare", "last~2", "last~1", "--across", "lr,").returncode == 2
    assert inside("compare", "last").returncode == 2

    found = bw.compare("last~2", "last~1", across="lr", metrics="accuracy", store=store)
    assert found.ok and found.across == ("lr",) and "lr=1 → 2" in str(found)
    within = bw.compare("last", across=["lr"], store=store)
    assert not within.is_same and "lr=1 → 2" in within._repr_html_()
    assert bw.compare_several("last~2", "last~1", across=["lr"], metrics="accuracy", store=store).ok
    with pytest.raises(bw.UserError, match="nothing to compare"):
        bw.compare("last", store=store)

    with closing(SqlStore(f"sqlite:///{store}")) as archive:
        a, b, both = (f"run:{archive.find(name)}" for name in ("last~2", "last~1", "last"))
        page = compare_page(archive, a, b, metrics=["accuracy"], across=["lr"])
        (line,) = page.lines
        assert line.params["lr"] == "1 → 2" and line.ratio and line.ratio.point == pytest.approx(2.0)
        assert page.across == ["lr"] and {"lr", "bs"} <= {*page.params}
        assert any(note.endswith("lr=2") for note in page.notes)
        apart = compare_page(archive, a, b, metrics=["accuracy"])
        assert [one.ratio for one in apart.lines] == [None, None]
        three = compare_page(archive, a, b, a, metrics=["accuracy"], across=["lr"])
        assert "lr" not in three.lines[0].params and three.lines[0].ratio
        with pytest.raises(OptionError, match=r"several cases of tasks\.toml::train are equal but for lr"):
            compare_page(archive, a, both, across=["lr"])
        with pytest.raises(OptionError, match="no case has a parameter 'nothing'"):
            compare_page(archive, a, b, across=["nothing"])
