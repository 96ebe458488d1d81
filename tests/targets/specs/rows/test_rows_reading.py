from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import LoadError
from benchwright.targets.specs.rows.converters import CAFFE2, RowCollector, check, readers
from benchwright.targets.specs.rows.entries import MOST_VALUES, Entries, PrintedRow
from benchwright.targets.specs.rows.json_rows import JsonRows

NET = '{"type": "NET", "metric": "latency", "unit": "us", "value": %s}'


def _read(
    text: str, converter: str = "", *, limit: int = -1, args: Any = None, **how: Any
) -> tuple[Entries, RowCollector]:
    collector = RowCollector(readers(converter, args, **how), limit)
    collector.feed(text.encode())
    return collector.finish(), collector


def _told(entries: Entries) -> dict[str, Any]:
    return {entry.key: entry.as_details() for entry in entries}


# ---- JSON rows ----


def test_rows_come_in_the_forms_of_today_and_before() -> None:
    text = "\n".join(
        [
            "loading the net",
            f"I0316 Caffe2Observer {NET % json.dumps('18.5')} trailing",
            "Caffe2Observer " + NET % 1e1,
            'Caffe2Observer {"type":"ID_0_Conv","metric":"tensor_shapes","unit":"","info_string":"[[1,3]]"}',
            'Caffe2Observer {"type":"LOAD","metric":"latency","unit":"ms","summary":{"p50":2,"p90":null},"num_runs":7}',
            'Caffe2Observer {"OLD": {"flops": {"value": "3", "unit": "flop"}, "note": {"info_string": 4, "unit": ""}}}',
            'Caffe2Observer {"custom_output": {"a": [1]}, "table_name": "mine"}',
            'Caffe2Observer {"custom_output": 2}',
        ]
    )
    entries, collector = _read(text, framework="caffe2")
    assert _told(entries) == {
        "NET latency": {"type": "NET", "metric": "latency", "unit": "us", "values": [18.5, 10.0]},
        "ID_0_Conv tensor_shapes": {
            "type": "ID_0_Conv",
            "metric": "tensor_shapes",
            "unit": "",
            "values": [],
            "info_string": "[[1,3]]",
        },
        "LOAD latency": {
            "type": "LOAD",
            "metric": "latency",
            "unit": "ms",
            "values": [],
            "num_runs": 7,
            "summary": {"p50": 2, "p90": None},
        },
        "OLD flops": {"type": "OLD", "metric": "flops", "unit": "flop", "values": [3.0]},
        "OLD note": {"type": "OLD", "metric": "note", "unit": "", "values": [], "info_string": "4"},
    }
    assert entries.custom == {"mine": [{"a": [1]}], "Custom Output": [2]}
    assert collector.bad == 0


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("no braces", "no {...}"),
        ("{half", "not JSON"),
        ("[" * 100_000, "no {...}"),
        ('{"a":' + "[" * 100_000 + "}", "not JSON"),
        (NET % '"fast"', "'fast' is not a number"),
        (NET % "true", "'True' is not a number"),
        (NET % "NaN", "not a finite number"),
        (NET % "1e999", "not a finite number"),
        (NET.replace("value", "values") % "[1, 2]", "no value, info_string or summary"),
        ('{"type": " ", "metric": "m", "unit": "", "value": 1}', "type or metric is empty"),
        ('{"type": "NET", "metric": "m", "unit": "", "summary": 3}', "summary is not an object"),
        ('{"anything": 1}', "no type, metric and unit"),
        ((NET % 3).replace("us", "ms"), "came in ms after us"),
        (f"{NET % 3} {NET % 4}", "not JSON"),
        ('{"custom_output": ' + "[" * 400 + "]" * 400 + "}", "nested more than 64 deep"),
    ],
)
def test_a_bad_row_is_left_out_and_counted(row: str, why: str) -> None:
    entries, collector = _read(f"{CAFFE2}{NET % 1}\n{CAFFE2}{row}\n{CAFFE2}{NET % 2}\n", framework="caffe2")
    assert [entry.values for entry in entries] == [[1.0, 2.0]]
    assert collector.bad == 1 and why in collector.example and len(collector.example) < 200


def test_the_last_values_are_kept_of_each_entry_not_of_all_rows() -> None:
    """The older system counted rows of operators as runs, so with operators most values were lost."""
    rows = [f"PyTorchObserver {(NET % value).replace('NET', kind)}" for value in range(5) for kind in ("A", "NET", "B")]
    entries, _ = _read("\n".join(rows), framework="pytorch", limit=3)
    assert [(entry.type, entry.values) for entry in entries] == [(name, [2, 3, 4]) for name in ("A", "NET", "B")]
    assert entries.values_of_runs() == 3


def test_a_marker_decides_unless_no_row_has_it() -> None:
    both = f"{NET % 1}\nPyTorchObserver {NET % 2}\nCaffe2Observer {NET % 3}\n"
    assert [e.values for e in _read(both, framework="generic")[0]] == [[2]]
    assert [e.values for e in _read(both, framework="caffe2")[0]] == [[3]]
    assert [e.values for e in _read(NET % 1, framework="generic")[0]] == [[1]]
    assert [e.values for e in _read(f"{CAFFE2}{NET % 3}", framework="generic")[0]] == [[3]]
    assert not len(_read(f"log {NET % 1}", framework="generic")[0])


def test_readers_that_can_no_longer_win_are_not_asked() -> None:
    asked: list[str] = []

    class Spy(JsonRows):
        def feed(self, line: str) -> Any:
            asked.append(line)
            return super().feed(line)

    collector = RowCollector([JsonRows("mine: "), Spy(bare=True)])
    for line in (NET % 1, "log", f"mine: {NET % 2}", NET % 3, NET % 4):
        collector.feed(f"{line}\n".encode())
    assert [entry.values for entry in collector.finish()] == [[2]]
    assert asked == [NET % 1]  # nor is one asked about a line that cannot be a row of its kind


def test_two_types_do_not_meet_in_one_entry() -> None:
    rows = [
        NET.replace("NET", "A b").replace("latency", "c") % 1,
        NET.replace("NET", "A").replace("latency", "b c") % 2,
    ]
    entries, collector = _read("\n".join(rows))
    assert [(entry.key, entry.values) for entry in entries] == [("A b c", [1])]
    assert collector.bad == 1 and "came of type 'A' after 'A b'" in collector.example
    assert entries.add(_read(rows[1])[0]) == ["A b c"]


def test_converters_by_name_read_only_what_they_are_for() -> None:
    both = f"log {NET % 1}\nmine: {NET % 2}\n"
    assert [e.values for e in _read(both, "json_converter")[0]] == [[1, 2]]
    assert [e.values for e in _read(both, "json_with_identifier_converter", args={"identifier": "mine: "})[0]] == [[2]]
    assert not len(_read(both, "json_with_identifier_converter", args={"identifier": "other"})[0])
    with pytest.raises(LoadError, match="unknown converter 'json_convert'"):
        check("json_convert")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 60), max_size=12), st.booleans())
def test_output_cut_anywhere_gives_the_same_rows(cuts: list[int], returns: bool) -> None:
    text = "".join(f"PyTorchObserver {NET % value}\n" for value in (1, 2, 3)).replace("\n", "\r\n" if returns else "\n")
    data = text.encode()
    collector = RowCollector(readers(framework="pytorch"))
    for cut in cuts:
        collector.feed(data[:cut])
        data = data[cut:]
    collector.feed(data)
    assert [entry.values for entry in collector.finish()] == [[1, 2, 3]]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_no_line_breaks_the_reader(line: str) -> None:
    for framework in ("caffe2", "tflite"):
        _read(f"Caffe2Observer {line}\n{line}\n{NET % 1}\n", framework=framework, seed=True)


def test_a_line_without_its_end_and_one_that_is_no_text_are_read() -> None:
    collector = RowCollector([JsonRows(bare=True)])
    collector.feed(b"\xff\xfe\n" + (NET % 4).encode())
    assert collector.latest() == ""
    assert [entry.values for entry in collector.finish()] == [[4]]
    assert collector.latest() == "NET latency 4 us"


# ---- entries ----


def test_what_is_kept_without_a_limit_is_bounded() -> None:
    entries = Entries()
    for value in range(2 * MOST_VALUES + 2):
        entries.take(PrintedRow(type="NET", metric="latency", unit="us", value=float(value)))
    (entry,) = entries.drop_beyond_limit()
    assert len(entry.values) == MOST_VALUES and entry.values[-1] == 2 * MOST_VALUES + 1
    assert entries.dropped == MOST_VALUES + 2


def test_entries_and_custom_outputs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchwright.targets.specs.rows.entries.MOST_ENTRIES", 2)
    monkeypatch.setattr("benchwright.targets.specs.rows.entries.MOST_CUSTOM", 3)
    rows = [(NET % value).replace("NET", kind) for value, kind in enumerate("ABCAB")]
    customs = [json.dumps({"custom_output": number, "table_name": f"t{number % 2}"}) for number in range(5)]
    found, _ = _read("\n".join([*rows, *customs]))
    assert {entry.key: entry.values for entry in found} == {"A latency": [0, 3], "B latency": [1, 4]}
    assert found.custom == {"t0": [0, 2], "t1": [1]} and found.left_out == 3
    total = _read((NET % 9).replace("NET", "D"))[0]
    total.add(found)  # of which B is one too many
    assert [entry.key for entry in total] == ["D latency", "A latency"] and total.left_out == 4
    total.add(found)
    assert sum(map(len, total.custom.values())) == 3


def test_entries_of_several_executions_are_put_together() -> None:
    first, second = _read(f"{NET % 1}\n{NET % 2}")[0], _read(f"{NET % 3}\n" + (NET % 9).replace("NET", "A"))[0]
    total = Entries(2)
    assert total.add(first) == total.add(second) == []
    assert {entry.key: entry.values for entry in total} == {"NET latency": [2, 3], "A latency": [9]}
    assert total.add(_read((NET % 1).replace("us", "ms"))[0]) == ["NET latency"]


# ---- blocks ----


def _block(*rows: str, end: str = "Delay End") -> str:
    return "".join(f"Caffe2Observer {row}\n" for row in ("Delay Start", *rows, end))


def test_blocks_tell_of_the_model_or_of_its_operators() -> None:
    text = _block("NET_DELAY - 1.5 (ms)") + _block("NET_DELAY - 9 (ms)", "ID_0_Conv - a - 7e-1 (ms)") + "noise\n"
    entries, collector = _read(text, framework="caffe2", seed=True)
    assert _told(entries) == {
        "NET_DELAY": {"type": "NET_DELAY", "values": [1.5]},
        "ID_0_Conv - a": {"type": "ID_0_Conv - a", "values": [0.7]},
    }
    assert collector.bad == 0


def test_blocks_that_are_cut_off_or_broken_are_counted() -> None:
    text = _block("NET_DELAY - 1 (ms)", end="Delay Start") + _block("NET_DELAY 2", "NET_DELAY - x (ms)")
    entries, collector = _read(text + _block("NET_DELAY - 4 (ms)") + "Caffe2Observer Delay Start\n", seed=True)
    assert _told(entries) == {"NET_DELAY": {"type": "NET_DELAY", "values": [4.0]}}
    assert collector.bad == 3 and "has no end" in collector.example
    entries, collector = _read("Caffe2Observer Delay Start\nCaffe2Observer NET_DELAY - 1 (ms)\n", seed=True)
    assert not len(entries) and collector.bad == 1


def test_a_program_of_today_may_run_a_spec_of_early_2018() -> None:
    entries, _ = _read(f"{CAFFE2}{NET % 3}\n", framework="caffe2", seed=True)
    assert [entry.key for entry in entries] == ["NET latency"]
