"""The flags of harness.py and its `--info` document: the older spellings, and errors that say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness import info
from benchwright.compat.harness.documents import NO_COMMIT
from benchwright.errors import OptionError

NEEDED = ["-b", "spec.json", "--framework", "caffe2", "--platform", "host", "--model_cache", "cache"]


def _parse(*more: str) -> harness_flags.HarnessFlags:
    return harness_flags.parse([*NEEDED, *more])


class TestFlags:
    def test_the_defaults_are_the_older_ones(self) -> None:
        flags = _parse()
        assert (flags.timeout, flags.cooldown, flags.platform, flags.rules) == (300.0, 1.0, "host", "today")
        assert flags.save and not flags.screen and not flags.idle
        assert flags.texts["local_reporter"] == ""

    @pytest.mark.parametrize("spelling", ["-p", "--platform", "--platforms"])
    def test_the_platform_has_two_names(self, spelling: str) -> None:
        words = [spelling if word == "--platform" else word for word in NEEDED]
        assert harness_flags.parse([*words]).platform == "host"

    def test_flags_may_be_abbreviated(self) -> None:
        assert _parse("--local", "out", "--screen", "--cool=3").texts["local_reporter"] == "out"
        assert _parse("--local", "out", "--screen").screen

    def test_our_own_flags_are_not_abbreviated(self) -> None:
        with pytest.raises(OptionError, match="--sto"):
            _parse("--sto", "x.db")

    def test_an_unknown_flag_names_the_nearest(self) -> None:
        with pytest.raises(OptionError) as caught:
            _parse("--local_reporte_dir", "x")
        assert "--local_reporter" in caught.value.remedy

    def test_a_value_that_belongs_to_no_flag_is_told(self) -> None:
        with pytest.raises(OptionError, match="unknown flags: b"):
            _parse("--user_string", "a", "b")

    def test_a_needed_flag_that_is_misspelt_is_told_before_what_is_missing(self) -> None:
        with pytest.raises(OptionError, match="unknown flags: --platfrm host") as caught:
            harness_flags.parse(["--platfrm", "host"])
        assert "'--platform'" in caught.value.remedy

    def test_a_missing_flag_is_named(self) -> None:
        with pytest.raises(OptionError, match="--model_cache"):
            harness_flags.parse(NEEDED[:-2])

    def test_arguments_of_the_program_may_begin_with_dashes(self) -> None:
        assert _parse("--command_args", "--x 1").command_args == "--x 1"
        assert _parse("--command_args=--x").command_args == "--x"

    def test_wiping_a_cache_is_left_to_the_program(self) -> None:
        asked = _parse("--wipe_cache", "true", "--command_args", "--x 1")
        assert (asked.command_args, asked.texts["wipe_cache"]) == ("--x 1", "true")
        assert _parse("--wipe_cache", "False").texts["wipe_cache"] == ""

    def test_variables(self) -> None:
        assert _parse("--env", "A=1", "B=x=y", "--env", "C=").env == {"A": "1", "B": "x=y", "C": ""}
        with pytest.raises(OptionError, match="'A'"):
            _parse("--env", "A")

    def test_the_string_map_is_an_object(self) -> None:
        assert _parse("--string_map", '{"DATA": "/d", "N": 3}').string_map == {"DATA": "/d", "N": "3"}
        with pytest.raises(OptionError, match="--string_map: not JSON"):
            _parse("--string_map", "{DATA: /d}")
        with pytest.raises(OptionError, match="list"):
            _parse("--string_map", "[1]")

    def test_what_does_nothing_here_is_accepted_and_listed(self) -> None:
        flags = _parse("--set_freq", "max", "--monsoon_map", "{}", "--use_enkaku", "--logger_level=debug")
        assert set(flags.idle) == {"set_freq", "monsoon_map", "use_enkaku", "logger_level"}

    @pytest.mark.parametrize("text", ["soon", "nan", "-1", "inf"])
    def test_times_are_numbers(self, text: str) -> None:
        for flag in ("--timeout", "--cooldown"):
            with pytest.raises(OptionError, match=flag):
                _parse(f"{flag}={text}")

    def test_two_things_for_standard_output(self) -> None:
        with pytest.raises(OptionError, match="screen"):
            _parse("--json", "--screen_reporter")

    def test_defaults_of_the_spec_stand_behind_what_is_typed(self) -> None:
        defaults = {"--timeout": 500, "--cooldown": "2", "--debug": True, "--reboot": False, "--string_map": {"A": "b"}}
        words = harness_flags.with_defaults([*NEEDED, "--timeout", "7"], defaults)
        flags = harness_flags.parse(words)
        assert (flags.timeout, flags.cooldown, flags.debug, flags.reboot) == (7.0, 2.0, True, False)
        assert flags.string_map == {"A": "b"}

    def test_a_spec_does_not_get_a_token_that_was_typed(self) -> None:
        its, mine = {"--remote_reporter": "its.example/p|c"}, ["--remote_access_token", "SECRET"]
        with pytest.raises(OptionError, match=r"its\.example") as caught:
            harness_flags.with_defaults([*NEEDED, *mine], its)
        assert "SECRET" not in str(caught.value)
        with pytest.raises(OptionError, match=r"its\.example"):
            harness_flags.with_defaults([*NEEDED, "--remote_acc=SECRET"], its)  # abbreviations are flags, too
        typed = [*NEEDED, *mine, "--remote_reporter", "mine.example/p|c"]
        assert harness_flags.parse(harness_flags.with_defaults(typed, its)).texts["remote_reporter"][:4] == "mine"
        both = {**its, "--remote_access_token": "ITS"}
        assert harness_flags.parse(harness_flags.with_defaults(NEEDED, both)).texts["remote_access_token"] == "ITS"

    def test_the_spec_is_found_before_the_rest_is_read(self) -> None:
        assert harness_flags.benchmark_file(["--platform", "host", "--bench=s.json", "--nonsense"]) == Path("s.json")
        assert harness_flags.benchmark_file(["--platform", "host"]) is None

    def test_every_flag_has_help(self) -> None:
        text = harness_flags.help_text()
        for flag in ("--benchmark_file", "--remote_access_token", "--rules", "--quota_use_case", "--platforms"):
            assert flag in text


def _document(tmp_path: Path, **more: Any) -> dict[str, Any]:
    program = tmp_path / "bench"
    program.write_text("", encoding="utf-8")
    treatment = {"commit": "abc", "commit_time": 1521072000, "programs": {"program": {"location": str(program)}}}
    return {"treatment": {**treatment, **more}}


class TestInfo:
    def test_todays_form(self, tmp_path: Path) -> None:
        whole = _document(tmp_path, string_map={"N": 3}, version="1.2", diff=77)
        whole["control"] = {**whole["treatment"], "commit": "base"}
        found = info.parse(json.dumps(whole))
        assert [side.name for side in found.sides] == ["treatment", "control"]
        assert found.treatment.commit == "abc" and found.treatment.commit_time == 1521072000.0
        assert found.treatment.string_map == {"N": "3"}
        assert found.control is not None and found.control.commit == "base"
        assert found.treatment.program == str(tmp_path / "bench")

    def test_the_seed_form_has_a_program(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        _document(tmp_path)
        found = info.parse(json.dumps({"treatment": {"program": "bench", "commit": "c", "commit_time": "12"}}))
        assert found.treatment.program == str(tmp_path / "bench")
        assert found.treatment.programs == {"program": str(tmp_path / "bench")}
        assert found.treatment.commit_time == 12.0

    def test_a_file_of_it(self, tmp_path: Path) -> None:
        file = tmp_path / "info.json"
        file.write_text(json.dumps(_document(tmp_path)), encoding="utf-8")
        assert info.parse(str(file)).treatment.commit == "abc"

    def test_no_document_but_a_program(self, tmp_path: Path) -> None:
        _document(tmp_path)
        found = info.parse("", program=str(tmp_path / "bench"))
        assert found.treatment.commit == NO_COMMIT and found.treatment.commit_time > 1.6e9

    def test_a_library_needs_no_program(self) -> None:
        found = info.parse('{"treatment": {"commit": "abc", "programs": {"program": "/no/such"}}}', needs_program=False)
        assert found.treatment.commit == "abc"

    @pytest.mark.parametrize(
        ("text", "said", "remedy"),
        [
            ("{'treatment': 1}", "--info: not JSON", "quote"),  # what a wrong quoting makes of it
            ("[1]", "--info is a list", ""),
            ("/no/such/info.json", "neither JSON nor a file", "JSON object"),
            ('{"treatment": 3}', "--info.treatment is a int", ""),
            ('{"control": {}}', "there is no treatment", "treatment"),
            ('{"treatmnt": {}}', "unknown key 'treatmnt'", "'treatment'"),
            ('{"treatment": {"comit": "a"}}', "unknown key 'comit'", "'commit'"),
            ('{"treatment": {"commit": "a"}}', "--info.treatment names no program", "location"),
            ('{"treatment": {"program": "/no/such"}}', "there is no file /no/such", "build"),
            ('{"treatment": {"program": "/"}}', "there is no file /", "build"),
            ('{"treatment": {"programs": {"program": {}}}}', "programs.program.location: None", ""),
            ('{"treatment": {"programs": {"program": 7}}}', "programs.program.location: 7", ""),
            (
                '{"treatment": {"program": "/bin/sh", "commit_time": "today"}}',
                "commit_time: 'today' is not a time",
                "1970",
            ),
            ('{"treatment": {"program": "/bin/sh", "commit_time": true}}', "commit_time: True is not a time", "1970"),
            ('{"treatment": {}, "shared_libs": {"a": 1}}', "shared_libs is a dict", ""),
        ],
    )
    def test_what_is_wrong_is_told_with_its_place(self, text: str, said: str, remedy: str) -> None:
        with pytest.raises(OptionError) as caught:
            info.parse(text)
        assert said in caught.value.message and remedy in caught.value.remedy

    def test_shared_libraries_go_to_both_sides(self, tmp_path: Path) -> None:
        whole = _document(tmp_path)
        whole |= {"control": whole["treatment"], "shared_libs": [str(tmp_path / "bench")]}
        found = info.parse(json.dumps(whole))
        assert [side.libraries for side in found.sides] == [(str(tmp_path / "bench"),)] * 2
