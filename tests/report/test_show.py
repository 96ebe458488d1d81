import io
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.records import Artifact, Failure, Run, Status
from benchwright.report.show import ShowRequest, show


def shown(run: Run, **wanted: object) -> str:
    out = io.StringIO()
    show(run, ShowRequest(**wanted), out)  # type: ignore[arg-type]
    return out.getvalue()


def test_json_is_the_document_itself(run: Run) -> None:
    assert schema.loads(shown(run, form="json"), Run) == run


def test_a_plot_comes_below_the_table(run: Run) -> None:
    text = shown(run, plot=True)
    assert text.index("median latency") < text.index("6,000 calls, ms")


def test_samples_are_csv(run: Run) -> None:
    assert shown(run, samples=True).splitlines()[0].endswith("latency_ns,end_ns")


def test_logs_are_what_the_record_holds_and_cannot_drive_a_terminal(run: Run) -> None:
    error = Failure(kind="exit", message="", log_tail="hello \x1b[31m")
    first = replace(run.results[0], status=Status.FAILED, error=error)
    talkative = replace(run.results[1], log_tail="all went well\n")
    text = shown(replace(run, results=(first, talkative, *run.results[4:6])), log=True)
    assert "hello \\x1b[31m" in text and "all went well" in text
    assert "loading shard 0" in text  # all that is kept, not the last ten lines
    assert "(nothing was written)" in text


def test_no_file_that_a_run_names_is_read(run: Run, tmp_path: Path) -> None:
    """A run may be imported from anyone; its artifacts could name any file of the reader."""
    path = tmp_path / "private"
    path.write_text("the reader's own secret")
    artifact = Artifact(name="log", kind="log", path=str(path), size=8)
    stranger = replace(run, results=tuple(replace(r, artifacts=(artifact,)) for r in run.results))
    for wanted in ({"log": True}, {}, {"plot": True}, {"form": "markdown"}, {"form": "csv"}, {"form": "json"}):
        assert "secret" not in shown(stranger, **wanted)


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_text_cannot_be_mixed_into_a_format(run: Run, form: str) -> None:
    with pytest.raises(OptionError, match="--plot"):
        shown(run, form=form, plot=True)
