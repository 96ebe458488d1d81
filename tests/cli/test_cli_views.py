from pathlib import Path

import pytest

from benchwright.cli.views import show_outcome
from benchwright.errors import OptionError
from sample_runs import make_run

URL = "postgresql://ann:s3cret@db.example/bench"


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_footer_says_where_a_run_is_kept_without_the_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, by_flag: bool
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_STORE", URL)
    show_outcome(make_run(calls=50), as_json=False, save=True, store=URL if by_flag else None, report=None)
    printed = capsys.readouterr().out
    assert "saved in postgresql://***@db.example/bench" in printed
    assert "s3cret" not in printed


@pytest.mark.parametrize("save", [True, False])
def test_only_a_saved_run_can_be_shown_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    show_outcome(make_run(calls=50), as_json=False, save=save, store=None, report=None)
    assert ("--worker-log" in capsys.readouterr().out) is save


def test_a_report_that_cannot_be_written_names_the_flag_of_this_verb(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"is a folder; name a file\n.*--report"):
        show_outcome(make_run(calls=50), as_json=True, save=False, store=None, report=str(tmp_path))
