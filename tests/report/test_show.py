import io
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import OptionError
from benchwright.records import Artifact, Run
from benchwright.report.show import Wanted, show


def shown(run: Run, **wanted: object) -> str:
    out = io.StringIO()
    show(run, Wanted(**wanted), out)  # type: ignore[arg-type]
    return out.getvalue()


def test_json_is_the_document_itself(run: Run) -> None:
    assert schema.loads(shown(run, form="json"), Run) == run


def test_a_plot_comes_below_the_table(run: Run) -> None:
    text = shown(run, plot=True)
    assert text.index("median latency") < text.index("6,000 calls, ms")


def test_samples_are_csv(run: Run) -> None:
    assert shown(run, samples=True).splitlines()[0].endswith("latency_ns,end_ns")


def test_logs_come_from_the_file_or_from_the_failure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_bytes(b"hello \xff\x1b[31m")
    log = Artifact(name="log", kind="log", path=str(path), size=8)
    first = replace(run.results[0], artifacts=(log,))
    text = shown(replace(run, results=(first, *run.results[4:6])), log=True)
    assert "hello \ufffd\\x1b[31m" in text
    assert "loading shard 0" in text  # all that is kept, not the last ten lines
    assert "(nothing was written)" in text


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_text_cannot_be_mixed_into_a_format(run: Run, form: str) -> None:
    with pytest.raises(OptionError, match="--plot"):
        shown(run, form=form, plot=True)
