from __future__ import annotations

import platform
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import psutil  # before a test pretends to be on another system
import pytest

from benchwright import schema
from benchwright.machine import environment
from benchwright.machine.environment import portable
from benchwright.machine.environment.page import sections
from benchwright.machine.environment.proc_files import is_known
from benchwright.records import Environment

CPU = "sys/devices/system/cpu"


def test_the_same_machine_gives_the_same_key_and_survives_the_schema() -> None:
    first, second = environment.collect(runtimes={"torch": "2.13"}), environment.collect(packages={"numpy": "2.1"})
    assert first.machine == second.machine
    assert schema.environment_key(first) == schema.environment_key(second)
    assert schema.loads(schema.dumps(first), Environment) == first
    assert first.runtimes == {"torch": "2.13"}
    assert second.packages == {"numpy": "2.1"}
    assert first.collected_at.endswith("+00:00")


def test_a_root_without_any_file_gives_reasons_not_errors(tmp_path: Path) -> None:
    found = environment.collect(root=tmp_path)
    assert set(found.machine) == set(environment.collect().machine)
    assert all(not is_known(value) for value in found.machine.values())
    assert found.knobs["governor"] == f"unavailable: no {tmp_path}/{CPU}/cpufreq"
    assert found.accelerators == ()
    assert str(found.knobs["accelerators"]).startswith("unavailable: ")
    assert schema.loads(schema.dumps(found), Environment) == found


def test_nothing_is_started_to_collect(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    assert environment.collect().machine["threads"]


def test_only_the_standard_library_is_imported() -> None:
    code = "import sys; from benchwright.machine import environment as e; e.collect(); e.installed_packages()"
    check = "assert not {'numpy', 'psutil', 'subprocess'} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True)


def test_the_host_name_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "the-secret-host")
    found = environment.collect()
    assert "the-secret-host" not in schema.dumps(found)
    assert len(str(found.system["host"])) == 8


@pytest.mark.parametrize("name", ["darwin", "win32"])
def test_other_systems_answer_the_same_questions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = environment.collect()
    monkeypatch.setattr(sys, "platform", name)
    monkeypatch.setattr(portable, "_cpu", lambda: "Apple M3")  # winreg exists on Windows alone
    found = environment.collect()
    assert found.machine.keys() == here.machine.keys()
    assert found.knobs.keys() == here.knobs.keys()
    assert found.system.keys() == here.system.keys()
    assert found.machine["memory"] == psutil.virtual_memory().total
    assert str(found.knobs["governor"]).startswith("unavailable: ")


def _parsed(path: list[str]) -> dict[str, str]:
    """What the standard library finds by parsing every metadata file."""
    told = [(d.metadata["Name"], d.metadata["Version"]) for d in metadata.distributions(path=path) if d.metadata]
    return {name: version for name, version in reversed(told) if name and version}


def test_packages_are_those_that_can_be_imported() -> None:
    found = environment.installed_packages()
    assert found["psutil"] == metadata.version("psutil")
    assert list(found) == sorted(found, key=str.lower)
    assert found == _parsed(sys.path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library that ours is compared with
def test_odd_packages_are_read_as_the_standard_library_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    heads = {
        here / "Odd_Name-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: Odd.Name\nVersion: 1.0\n\nName: no\n",
        here / "late-2.dist-info/METADATA": f"Author: {'x' * 5000}\nName: late\nVersion: 2\n",
        here / "cut-3.dist-info/METADATA": f"Author: {'x' * 995}\nName: cut-in-the-middle\nversion: 3",
        here / "folded-4.dist-info/METADATA": "License: one\n  two\nName: folded\nVersion: 4\n",
        here / "half.dist-info/INSTALLER": "pip\n",
        here / "nameless-5.dist-info/METADATA": "Version: 5\n",
        here / "egg.egg-info/PKG-INFO": "Name: egg\r\nVersion: 6\r\n",
        here / "single-7.egg-info": "Name: single\nVersion: 7\n",
        there / "late-9.dist-info/METADATA": "Name: late\nVersion: 9\n",
        tmp_path / "whole.egg/EGG-INFO/PKG-INFO": "Name: whole\nVersion: 8\n",
    }
    for path, text in heads.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("zipped-1.dist-info/METADATA", "Name: zipped\nVersion: 1\n")
    places = [str(tmp_path / name) for name in ("here", "there", "whole.egg", "zipped.zip", "nowhere")]
    expected = _parsed(places)
    monkeypatch.setattr(sys, "path", places)
    assert environment.installed_packages() == expected
    assert expected == {
        "cut-in-the-middle": "3",
        "egg": "6",
        "folded": "4",
        "late": "2",
        "Odd.Name": "1.0",
        "single": "7",
        "whole": "8",
        "zipped": "1",
    }


def test_every_section_is_shown() -> None:
    here = environment.collect(packages={"numpy": "2.1"})
    gpu = replace(
        here, accelerators=({"vendor": "NVIDIA", "name": "A100"},), knobs={"accelerators": [{"memory": 2**30}]}
    )
    assert [s.title for s in sections(here)] == [
        *("Machine", "System", "Accelerators", "Knobs", "At the start", "Packages"),
    ]
    assert dict(sections(gpu)[2].lines) == {"0": "NVIDIA A100, memory 1.00 GiB"}


def test_differences_name_the_place_and_both_values() -> None:
    a = environment.collect(packages={"numpy": "2.1", "scipy": "1.15"})
    changed = {**a.machine, "caches": {"L2": 1, **dict(a.machine["caches"])} | {"L2": 7}}  # type: ignore[arg-type, dict-item]
    b = replace(a, machine=changed, packages={"numpy": "2.2"}, collected_at="another moment")
    assert environment.difference(a, a) == []
    assert environment.difference(a, b) == [
        ("machine.caches.L2", a.machine["caches"]["L2"], 7),  # type: ignore[index,call-overload]
        ("packages.numpy", "2.1", "2.2"),
        ("packages.scipy", "1.15", None),
    ]
    assert environment.difference(b, a)[-1] == ("packages.scipy", None, "1.15")
