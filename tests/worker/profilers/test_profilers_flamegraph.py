"""The flame graph: widths are shares, and whatever a name holds, the file is well formed."""

from __future__ import annotations

from xml.etree import ElementTree

from benchwright.worker.profilers.flamegraph import WIDTH, flame_graph, from_speedscope

SVG = "{http://www.w3.org/2000/svg}"


def test_width_is_the_share_of_samples_and_callers_are_below() -> None:
    boxes = _boxes(flame_graph([(["main", "load"], 1.0), (["main", "run"], 3.0)], "title"))
    assert [boxes[name][0] for name in ("main", "load", "run")] == [WIDTH, WIDTH / 4, 3 * WIDTH / 4]
    assert boxes["main"][1] > boxes["run"][1] == boxes["load"][1]
    assert boxes["main"][2] == "main: 100.0 %" and boxes["run"][2] == "run: 75.0 %"


def test_names_are_data() -> None:
    boxes = _boxes(flame_graph([(['<module> & "x"'], 1.0)], "<b>"))
    assert list(boxes) == ['<module> & "x"']


def test_what_is_too_narrow_to_see_is_left_out() -> None:
    assert list(_boxes(flame_graph([(["wide"], 1e6), (["narrow"], 1.0)], ""))) == ["wide"]


def test_no_samples_make_an_empty_graph() -> None:
    assert _boxes(flame_graph([], "nothing")) == {}


def test_threads_of_a_speedscope_file_stand_beside_each_other() -> None:
    profile = {
        "shared": {"frames": [{"name": "main", "file": "/a/b/work.py"}, {"name": "idle"}]},
        "profiles": [
            {"name": "first", "samples": [[0], [0, 1]], "weights": [0.5, 0.5]},
            {"name": "second", "samples": [[1]], "weights": [1.0]},
        ],
    }
    boxes = _boxes(from_speedscope(profile, ""))
    assert boxes["first"][0] == boxes["second"][0] == WIDTH / 2
    assert boxes["main (work.py)"][0] == WIDTH / 2


def _boxes(svg: str) -> dict[str, tuple[float, float, str]]:
    """Width, top and tooltip by name; of two with one name the last."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text and box is not None
        found[title.text.rsplit(":", 1)[0]] = (float(box.attrib["width"]), float(box.attrib["y"]), title.text)
    return found
