"""A contender in a process of its own, so that neither memory nor settings of one reach the next."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_FLAG = "--contender"


def measured(script: str, name: str, **given: Any) -> Any:
    """What the contender `name` of the script answers for these arguments, in a fresh process."""
    command = [sys.executable, script, _FLAG, name, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def answered(contenders: Mapping[str, Callable[..., Any]], arguments: Sequence[str] | None) -> bool:
    """Whether this process is such a child; if so, its answer is printed."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] != [_FLAG]:
        return False
    print(json.dumps(contenders[given[1]](**json.loads(given[2]))))
    return True
