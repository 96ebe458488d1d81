"""`%benchwright` and `%%benchwright`, and what a notebook shows: the example is executed in a real kernel."""

from __future__ import annotations

import base64
import re
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from benchwright.cli.magics import compile_call, measure_cell, read_line
from benchwright.errors import StoreError, UserError
from benchwright.records import Status
from benchwright.store import open_configured_store
from benchwright.workflows.run import MeasuredRun


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")  # of other people's packages
@pytest.mark.fresh
def test_the_example_shows_tables_with_pictures(root: Path, tmp_path: Path) -> None:
    source = (root / "examples" / "measure_a_cell.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(source, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    client = nbclient.NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [_html(cell) for cell in notebook.cells if cell.cell_type == "code"][1:]
    for page, words in zip(shown, ["count", "sort", "sort", "against", "latency_p50"], strict=True):
        assert words in page and "<table>" in page and "<script" not in page and "<style" not in page
        [picture] = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)
        assert b"<svg" in base64.b64decode(picture)
    assert "which is one round" in shown[0]
    with closing(open_configured_store(str(tmp_path / ".benchwright" / "results.db"))) as store:
        runs = [store.run(name) for name in store.run_ids()]
    assert [run.results[0].case.name for run in runs] == ["count", "sort", "sort"]
    assert runs[1].tags == ("first",)
    assert all(run.results[0].case.target.options == {"process": "shared"} for run in runs)


class _Shell:
    """As much of IPython as the magic asks for."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {"items": [3, 1, 2], "seen": []}

    def transform_cell(self, code: str) -> str:
        return code

    def ex(self, code: str) -> None:
        exec(code, self.user_ns)


def test_a_cell_is_measured_with_the_names_of_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell = _Shell()
    run = measure_cell(shell, "--no-save --duration 5ms --rounds 7 items.append(0)", "x = sorted(items)\nx.pop()")
    assert isinstance(run, MeasuredRun)
    [result] = run.results
    assert result.status is Status.OK and result.case.name == "x = sorted(items) ..."
    assert len(result.samples[0].columns["latency"]) >= 7
    assert shell.user_ns["items"] == [3, 1, 2, 0], "what stands behind the flags is done once"
    assert "x" not in shell.user_ns, "names of the cell are its own"
    assert not (tmp_path / ".benchwright").exists()


def test_what_the_cell_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        measure_cell(_Shell(), "--no-save 1 / 0", None)
    with pytest.raises(SyntaxError):
        compile_call("this is no Python", {})
    with pytest.raises(SyntaxError):  # as a body of a function it would make a generator, in no time
        compile_call("yield 1", {})


def test_what_the_store_does_not_take_is_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(StoreError, match="1 result was kept in"):
        measure_cell(_Shell(), "--store /proc/nowhere.db --duration 5ms len(items)", None)
    assert list(tmp_path.glob("benchwright-*.jsonl"))


def test_flags_are_read_from_the_beginning_of_the_line() -> None:
    asked = read_line("--name 'two words' --duration=50ms --tag a --tag b --store=x.db f(--x)")
    assert (asked.name, asked.duration, asked.tags, asked.store) == ("two words", 0.05, ("a", "b"), "x.db")
    assert asked.rest == "f(--x)"
    assert read_line("--no-save f(1)").rest == "f(1)"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--rouns 3 f()", "did you mean"),
        ("--rounds many f()", "not a number above 0"),
        ("--rounds ² f()", "not a number above 0"),
        ("--tag last f()", "would mean something else"),
        ("--store nosuch://x f()", "unknown store 'nosuch'"),
        ("--duration 0 f()", "not a time above 0"),
        ("--name", "needs a value"),
        ("--no-save", "nothing to measure"),
    ],
)
def test_a_line_that_is_not_understood_is_refused(line: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        measure_cell(_Shell(), line, None)
    assert said in f"{refused.value.message}: {refused.value.remedy}"


def _html(cell: Any) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
