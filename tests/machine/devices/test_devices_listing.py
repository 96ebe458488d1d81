"""Which devices a request means, as far as no phone is needed, and what adb's answers mean."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import MeasureError, NotInstalledError, OptionError
from benchwright.machine.devices.adb_client import EndMarkFilter, find_program, last_words, quote_word
from benchwright.machine.devices.adb_facts import from_text
from benchwright.machine.devices.listing import choose_devices, parse_attached

LISTED = """\
* daemon started successfully
List of devices attached
R58M123ABC             device usb:1-2 product:beyond1 model:SM_G973F device:beyond1 transport_id:1
127.0.0.1:5555         offline transport_id:3
0A041FDD4003BW         unauthorized usb:1-3 transport_id:4
XYZ                    no permissions (user in plugdev group; are your udev rules wrong?); see [http://x] usb:1-4

"""


def test_the_lines_of_adb_devices() -> None:
    assert [(each.serial, each.state) for each in parse_attached(LISTED)] == [
        ("R58M123ABC", "device"),
        ("127.0.0.1:5555", "offline"),
        ("0A041FDD4003BW", "unauthorized"),
        ("XYZ", "no permissions"),
    ]


def test_this_machine_is_a_device_with_a_name() -> None:
    ((text, about),) = choose_devices("linux/clang")
    assert text == "host" and about.name and about.serial == platform.node()
    assert [about.name for _, about in choose_devices("host", hashes={platform.node(): "bench-1"})] == ["bench-1"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"device": "elsewhere"}, "'elsewhere' is not connected"),
        ({"devices": ["elsewhere"]}, "'elsewhere' is not connected"),
        ({"excluded": [platform.node()]}, "no device of platform 'host' is left"),
        ({"device": '{"hash": 3}'}, "names no hash"),
        ({"device": '{"kind": "x", "hsh": "y"}'}, "unknown key 'hsh'"),
        ({"device": "{hash: x}"}, "not JSON"),
    ],
)
def test_a_choice_that_cannot_be_met_is_an_error(asked: dict[str, object], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        choose_devices("host", **asked)  # type: ignore[arg-type]


def test_other_platforms_are_refused() -> None:
    with pytest.raises(OptionError, match="programs on iOS devices cannot be started"):
        choose_devices("ios")


def test_without_adb_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path))
    tool = tmp_path / "platform-tools" / "adb"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    assert "adbutils" in find_program()  # what is not executable does not count
    tool.chmod(0o755)
    assert find_program() == str(tool)
    tool.unlink()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NotInstalledError, match="benchwright\\[android\\]"):
        find_program()


@given(st.lists(st.binary(max_size=60)), st.integers(0, 255), st.integers(1, 7))
def test_the_mark_of_the_end_is_found_however_it_is_cut(pieces: list[bytes], code: int, size: int) -> None:
    ending = EndMarkFilter("0123")
    own = b"".join(pieces) + b"benchwright-012"  # the beginning of a mark that is none
    whole = own + f"{ending.mark} {code}\n".encode()
    passed = b"".join(ending.feed(whole[at : at + size]) for at in range(0, len(whole), size))
    assert (passed, ending.code) == (own, code)


def test_what_is_certain_is_passed_on_at_once() -> None:
    ending = EndMarkFilter("0123")
    assert ending.feed(b"a row\n") == b"a row\n"
    assert ending.feed(b"bench") == b"" and ending.feed(b"mark\n") == b"benchmark\n"
    assert ending.code is None


def test_a_device_that_tells_little_still_has_a_name() -> None:
    about = from_text("S1", "getprop: not found\n")
    assert (about.name, about.abi, about.facts) == ("S1", "", {})


def test_words_for_the_shell_and_from_adb() -> None:
    assert quote_word("it's") == "'it'\"'\"'s'" and quote_word("") == "''"
    with pytest.raises(MeasureError, match="zero byte"):
        quote_word("a\0b")
    assert last_words(b"* starting\nadb: error: device 'x' not found\n\n") == "device 'x' not found"
