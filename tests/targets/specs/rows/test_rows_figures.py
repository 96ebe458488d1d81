from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import MeasureError
from benchwright.records import Better
from benchwright.targets.specs.rows import figures, outputs
from benchwright.targets.specs.rows.entries import Entries, PrintedRow


def _entries(*rows: PrintedRow) -> Entries:
    entries = Entries()
    for row in rows:
        entries.take(row)
    return entries


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("us", (1e-6, "s")),
        ("ms", (1e-3, "s")),
        ("MiB", (2.0**20, "B")),
        ("m", (1.0, "m")),  # metres as well as minutes
        ("flop", (1.0, "flop")),
        ("", (1.0, "")),
    ],
)
def test_units_become_base_units_where_they_are_known(unit: str, found: tuple[float, str]) -> None:
    assert figures.base(unit) == (pytest.approx(found[0]), found[1])


def test_a_metric_is_the_median_with_its_interval() -> None:
    rows = [PrintedRow(type="NET", metric="latency", unit="us", value=float(value)) for value in range(1, 102)]
    (metric,) = figures.metrics(_entries(*rows))
    assert (metric.name, metric.unit, metric.better, metric.count) == ("NET latency", "s", Better.LOWER, 101)
    assert metric.estimate.low is not None and metric.estimate.high is not None
    assert metric.estimate.point == pytest.approx(51e-6)
    assert metric.estimate.low < metric.estimate.point < metric.estimate.high
    assert metric.values[-1] == pytest.approx(101e-6)


def test_what_has_no_number_is_no_metric_and_what_has_no_direction_has_none() -> None:
    rows = (
        PrintedRow(type="A", metric="op_args", unit="", info="x"),
        PrintedRow(type="A", metric="flops", unit="flop", value=3),
        PrintedRow(type="A", metric="size", unit="kB", value=2),
    )
    found = figures.metrics(_entries(*rows))
    assert [(m.name, m.unit, m.better, m.estimate.point) for m in found] == [
        ("A flops", "flop", None, 3),
        ("A size", "B", None, 2000),
    ]


def test_operators_are_the_latencies_of_what_is_not_the_model() -> None:
    rows = (
        PrintedRow(type="NET", metric="latency", unit="us", value=100),
        PrintedRow(type="ID_0_Conv_conv1", metric="latency", unit="us", value=10),
        PrintedRow(type="ID_0_Conv_conv1", metric="latency", unit="us", value=20),
        PrintedRow(type="ID_0_Conv_conv1", metric="flops", unit="flop", value=1000),
        PrintedRow(type="ID_0_Conv_conv1", metric="tensor_shapes", unit="", info="[[1,3,224,224]]"),
        PrintedRow(type="aten::relu", metric="latency", unit="ms", value=0.045),
    )
    found = figures.operators(_entries(*rows))
    assert [(o.name, o.kind, o.shapes) for o in found] == [
        ("aten::relu", "aten::relu", ""),
        ("ID_0_Conv_conv1", "Conv", "[[1,3,224,224]]"),
    ]
    assert [o.seconds for o in found] == pytest.approx([45e-6, 15e-6])
    assert [o.share for o in found] == pytest.approx([0.75, 0.25])


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode("latin-1"))
    return path


def test_an_output_is_compared_with_golden_element_by_element(tmp_path: Path) -> None:
    found = outputs.compare_files("y", _file(tmp_path, "a", "1e0\n\n-2\n"), _file(tmp_path, "b", " 1.5\n-2"))
    assert found.as_details() == {
        "type": "y",
        "values": [1.0, -2.0],
        "control_values": [1.5, -2.0],
        "diff_values": [-0.5, 0.0],
    }
    assert {m.name: m.estimate.point for m in found.metrics()} == {"error_max_abs.y": 0.5, "error_mean_abs.y": 0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2\n3\n", "output y has 3 numbers, golden has 2"),
        ("1\n", "output y has 1 numbers, golden has 2"),
        ("1\ntwo\n", "does not hold one number a line"),
        ("1\n\xff\xfe\n", "does not hold one number a line"),
        ("1\nnan\n", "line 2 of a is nan"),
        (None, "cannot be read: No such file"),
    ],
)
def test_an_output_that_does_not_fit_is_refused_whole(tmp_path: Path, text: str | None, message: str) -> None:
    golden = _file(tmp_path, "b", "1\n2\n")
    found = tmp_path / "a" if text is None else _file(tmp_path, "a", text)
    with pytest.raises(MeasureError, match=message):
        outputs.compare_files("y", found, golden)


def test_two_empty_files_are_no_agreement(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="are empty"):
        outputs.compare_files("y", _file(tmp_path, "a", ""), _file(tmp_path, "b", "\n"))
