import sys

import pytest

from benchwright.errors import NotInstalledError
from benchwright.records import Run
from benchwright.report.data_frames import to_pandas


def test_tidy_one_row_for_each_result_and_metric(run: Run) -> None:
    frame = to_pandas(run)
    assert len(frame) == sum(len(r.metrics) or 1 for r in run.results)
    assert list(frame.columns[-1:]) == ["error"]
    medians = frame[frame.metric == "latency_p50"].groupby(["runtime", "batch_size"]).value.mean()
    assert medians["onnxruntime", 1] == pytest.approx(1.8e-3, rel=0.02)
    assert frame[frame.status == "failed"].value.isna().all()


def test_without_pandas_the_error_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'benchwright\[pandas\]'"):
        to_pandas(run)
