from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness.specs.planner import FileEntry, PlannedTest, Role, SpecRequest, plan, to_pass
from benchwright.errors import FetchError
from benchwright.targets.specs import passes

Write = Callable[..., Path]


def _only(path: Path, **asked: Any) -> PlannedTest:
    (test,) = plan(path, SpecRequest(framework="generic", **asked)).tests
    return test


def _located(path: Path, key: str, **asked: Any) -> FileEntry:
    return next(entry for entry in _only(path, **asked).files if entry.key == key)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("https://example.org/m.pb", "https://example.org/m.pb"),
        ("s3://bucket/m.pb", "s3://bucket/m.pb"),
        ("//sub/m.pb", "/models/sub/m.pb"),
        ("/abs/m.pb", "/abs/m.pb"),
        ("../m.pb", "PARENT/m.pb"),
        ("{DATA}/m.pb", "/d/m.pb"),
        ("{HOSTDIR}/m.pb", "{HOSTDIR}/m.pb"),
    ],
)
def test_locations_start_at_the_spec_also_without_md5(write: Write, location: str, found: str) -> None:
    path = write({"commands": ["{program}"], "input_files": {"m": {"filename": "m.pb", "location": location}}})

    entry = _located(path, "input_files.m", root_model_dir=Path("/models"), string_map={"DATA": "/d"})

    assert entry.location == found.replace("PARENT", str(path.parent.parent))
    assert entry.is_wanted == ("{" not in entry.location)


def test_files_of_a_test_keep_their_place_their_role_and_their_key(write: Write, tmp_path: Path) -> None:
    path = write(
        {
            "commands": ["{program} {files.labels} {input_files.data}"],
            "input_files": {"data": {"filename": "data.bin", "location": "data.bin"}},
            "files": {"labels": {"filename": "labels.txt", "location": "{TEMPDIR}/labels.txt"}},
            "output_files": {
                "table": {
                    "filename": "t.json",
                    "location": "{TGTDIR}/sub/t.json",
                    "converter": {"name": "json_converter", "args": {"a": 1}},
                },
                "named": {"filename": "named.txt"},
            },
        }
    )
    test = _only(path)
    placed = {entry.key: tmp_path / "cache" / entry.filename for entry in test.files if entry.is_wanted}

    one = to_pass(test, program="/bin/bench", programs={"aux": "/bin/aux"}, libraries=["/l.so"], placed=placed)

    assert set(placed) == {"files.init", "files.predict", "input_files.data"}
    assert {file.key: (file.name, file.path) for file in one.files} == {
        "files.init": ("init_net.pb", str(tmp_path / "cache/init_net.pb")),
        "files.predict": ("predict_net.pb", str(tmp_path / "cache/predict_net.pb")),
    }
    assert [(file.key, file.path) for file in one.input_files] == [
        ("input_files.data", str(tmp_path / "cache/data.bin")),
        ("files.labels", "{HOSTDIR}/labels.txt"),
    ]
    assert [(file.key, file.name, file.path, file.converter) for file in one.output_files] == [
        ("output_files.table", "sub/t.json", "", "json_converter"),
        ("output_files.named", "named.txt", "", ""),
    ]
    assert (one.program, one.programs, one.libraries) == ("/bin/bench", {"aux": "/bin/aux"}, ("/l.so",))
    assert passes.from_text(passes.to_text(one)) == one


def test_files_with_one_name_do_not_lie_over_each_other(write: Write) -> None:
    path = write(
        {
            "commands": ["{program}"],
            "input_files": {"x": {"filename": "init_net.pb", "location": "other.pb", "md5": "0" * 32}},
        }
    )
    planned = plan(path, SpecRequest(framework="generic"))

    one = to_pass(planned.tests[0], program="p", programs={}, libraries=(), placed={})

    assert len({file.name for file in (*one.files, *one.input_files)}) == 3
    assert any("filename init_net.pb" in notice.message for notice in planned.notices)


def test_input_and_output_files_of_equal_names_are_told(write: Write) -> None:
    file = {"filename": "x", "location": "{TGTDIR}/x"}
    path = write({"commands": ["{program}"], "input_files": {"same": file}, "output_files": {"same": file}})

    assert ["called same" in notice.message for notice in plan(path, SpecRequest(framework="generic")).notices] == [
        True
    ]


def test_a_golden_file_is_the_path_of_its_output(write: Write, tmp_path: Path) -> None:
    path = write({"metric": "error", "commands": ["{program}"], "output_files": {"blob": ["g/blob-golden.txt"]}})
    test = _only(path)
    golden = next(entry for entry in test.files if entry.role is Role.GOLDEN)

    one = to_pass(test, program="p", programs={}, libraries=(), placed={golden.key: tmp_path / "kept.txt"})

    assert [(file.name, file.path) for file in one.output_files] == [("blob.txt", str(tmp_path / "kept.txt"))]


def test_steps_around_the_program_of_the_model_too(write: Write) -> None:
    step = {"commands": ["a {HOSTDIR}", "b"], "platform_args": {"timeout": 9, "env": {"X": 1}}}
    own = {"command": "c", "files": {"program": {"filename": "c.sh", "location": "c.sh"}}}
    path = write(
        {"commands": ["{program}"], "preprocess": own, "timeout": 5},
        model={"preprocess": step, "postprocess": {"commands": ["d"]}, "repeat": "3", "log_output": "true"},
    )

    one = to_pass(_only(path), program="p", programs={}, libraries=(), placed={})

    assert one.before == passes.HostCommands(commands=("a {HOSTDIR}", "b"), env={"X": "1"}, timeout=9.0)
    assert one.before_each is not None and one.before_each.commands == ("c",) and one.before_each.timeout == 5.0
    assert [file.key for file in one.before_each.files] == ["preprocess.files.program"]
    assert one.after_each is None and one.after is not None and one.after.commands == ("d",)
    assert (one.repeat, one.log_output) == (3, True)


def test_a_file_that_was_not_fetched_is_an_error(write: Write) -> None:
    path = write({"commands": ["{program}"]}, model={"files": {"m": {"filename": "m", "location": "http://x/m"}}})

    with pytest.raises(FetchError, match=r"files.m was not fetched from http://x/m"):
        to_pass(_only(path), program="p", programs={}, libraries=(), placed={})
