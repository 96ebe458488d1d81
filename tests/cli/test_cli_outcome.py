import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.cli import outcome
from benchwright.records import Run

make_run: Callable[..., Run] = runpy.run_path(str(Path(__file__).parents[1] / "report" / "sample_runs.py"))["make_run"]
URL = "postgresql://ann:s3cret@db.example/bench"


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_footer_says_where_a_run_is_kept_without_the_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by_flag: bool
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_STORE", URL)
    outcome.show(make_run(calls=50), as_json=False, save=True, store=URL if by_flag else None, report=None)
    printed = capsys.readouterr().out
    assert "saved in postgresql://ann:***@db.example/bench" in printed
    assert "s3cret" not in printed
