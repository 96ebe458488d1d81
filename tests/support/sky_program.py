"""A `sky` that keeps clusters in a file and plays faults, for SkyPilot's users."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TABLE = """Considered resources (1 node):
 INFRA             INSTANCE          vCPUs   Mem(GB)   GPUS     COST ($)   CHOSEN
 AWS (us-east-1)   m6i.large         2       8         -        0.10       \u2714
"""
_SKY = """\
import json, sys
from pathlib import Path
folder, words = Path({folder!r}), sys.argv[1:]
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
state = json.loads((folder / "state").read_text())
if state["faults"] and words[0] == "launch":
    said, is_done = state["faults"].pop(0)
    (folder / "state").write_text(json.dumps(state))
    if not is_done:
        sys.exit(said)
else:
    said = ""
clusters = state["clusters"]
if words[0] == "launch" and "--dryrun" in words:
    if words[words.index("-t") + 1] != "m6i.large":
        sys.exit("ValueError: Invalid instance type 'm6i.largest' for cloud AWS.")
    print({table!r})
elif words[0] == "launch":
    name = words[words.index("-c") + 1]
    task = json.loads(Path(words[-1]).read_text())
    (folder / "task").write_text(json.dumps(task))
    spot = "[spot]" if "--use-spot" in words else ""
    clusters[name] = {{"name": name, "launched_at": 1795000000, "status": "UP", "region": "us-east-1",
        "labels": task["resources"]["labels"], "resources_str_full": f"1x{{spot}}(cpus=2, mem=8, m6i.large, disk=256)"}}
elif words[0] == "status":
    asked = [one for one in clusters.values() if words[-1] in ("json", one["name"])]
    print("D 11-17 some notice\\n" + json.dumps(asked))
elif words[0] == "check":
    print(json.dumps({{"default": ["aws", "gcp"]}}))
elif words[0] in ("start", "stop"):
    clusters[words[-1]]["status"] = "UP" if words[0] == "start" else "STOPPED"
elif words[0] == "down":
    del clusters[words[-1]]
(folder / "state").write_text(json.dumps(state))
if said:
    sys.exit(said)
"""


class Sky:
    """The program's calls and state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.write({"clusters": {}, "faults": []})

    def write(self, state: dict[str, Any]) -> None:
        (self._folder / "state").write_text(json.dumps(state), encoding="utf-8")

    def fails(self, said: str, *, is_done: bool = False) -> None:
        self.write({**self.state, "faults": [(said, is_done)]})

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._folder / "state").read_text(encoding="utf-8"))
        return found

    @property
    def task(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._folder / "task").read_text(encoding="utf-8"))
        return found

    def calls(self, verb: str) -> list[list[str]]:
        lines = (self._folder / "calls").read_text(encoding="utf-8").splitlines()
        return [words for words in map(json.loads, lines) if words[0] == verb]


def install_sky(folder: Path) -> Sky:
    """Writes the program into a folder, which then belongs into PATH."""
    (folder / "sky.py").write_text(_SKY.format(folder=str(folder), table=TABLE), encoding="utf-8")
    program = folder / "sky"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {folder / "sky.py"} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return Sky(folder)
