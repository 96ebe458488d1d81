"""The vendors' libraries are extras: loaded when a cloud is asked, and named where they are missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchwright.cloud import load_provider
from benchwright.errors import NotInstalledError
from cloud_contract import usual_order

LIBRARIES = {"gcp": "google", "azure": "azure", "oci": "oci"}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = LIBRARIES[name]
    for module in [one for one in sys.modules if one.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    provider = load_provider(name)
    for question in (
        lambda: provider.payer("somewhere"),
        lambda: provider.instances("somewhere"),
        lambda: provider.create(usual_order(provider=name, shape="x", region="somewhere")),
    ):
        with pytest.raises(NotInstalledError) as missing:
            question()
        assert f"'benchwright[{library}]'" in missing.value.remedy


def test_providers_are_made_without_their_libraries() -> None:
    script = (
        "import sys; from benchwright.cloud import load_provider\n"
        "[load_provider(name) for name in ('gcp', 'azure', 'oci', 'skypilot')]\n"
        "assert not {'google', 'azure', 'oci'} & set(sys.modules), sorted(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
