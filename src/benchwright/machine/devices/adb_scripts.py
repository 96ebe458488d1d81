"""Scripts for the shell of a device: mksh on phones; nothing in them that another POSIX shell would not know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from benchwright.errors import MeasureError
from benchwright.machine.devices.adb_client import quote_word

BASE = "/data/local/tmp"  # where the shell's user may write and run files
VARIABLE = "BENCHWRIGHT_DEVICE"  # every descendant of a program carries it, also one that left its group
OUTSIDE = 77  # the exit code of `guard`
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def start_script(private: str, folder: str, argv: Sequence[str], env: Mapping[str, str], cpus: Sequence[int]) -> str:
    """Runs a program in `folder` as a child, having noted its own group in `private`; leaves `code`."""
    mask = [f"taskset {sum({1 << cpu for cpu in cpus}):x}"] if cpus else []
    command = " ".join([*mask, *map(quote_word, argv)])
    return "\n".join(
        [
            f"cd {quote_word(folder)} || exit 1",
            "exec 2>/dev/null",  # a shell would tell of a program's end by a signal in its own words
            f"echo $$ >{quote_word(private)}/pid",
            *_export_lines(env),
            f"( exec </dev/null 2>&1; exec {command} ); code=$?",
            f": >{quote_word(private)}/pid",
        ]
    )


def end_script(private: str, token: str) -> str:
    """Ends the running program's group, with SIGTERM before SIGKILL, and then all that carries the token."""
    return f"""\
group=$(cat {quote_word(private)}/pid 2>/dev/null)
case "$group" in ''|*[!0-9]*) ;; *)
kill -15 -$group
looks=0
while [ $looks -lt 10 ] && kill -0 -$group; do sleep 0.1; looks=$((looks+1)); done
kill -9 -$group
: >{quote_word(private)}/pid;;
esac 2>/dev/null
looks=0
while [ $looks -lt 20 ]; do
found=$(grep -l {VARIABLE}={token} /proc/[0-9]*/environ 2>/dev/null)
[ -z "$found" ] && break
for one in $found; do one=${{one#/proc/}}; kill -9 ${{one%/environ}} 2>/dev/null; done
looks=$((looks+1))
done"""


def guard_script(folder: str, parent: str) -> str:
    """Ends a script with `OUTSIDE` when a link on the way to `parent` leads out of `folder`."""
    return (
        f"there=$(cd {quote_word(folder)} && pwd -P) && here=$(cd {quote_word(parent)} && pwd -P) || exit 1; "
        f'case "$here/" in "$there"/*) ;; *) exit {OUTSIDE};; esac'
    )


def sizes_script(path: str) -> str:
    """Prints the size of a file and a dot, or the size and the name of each file below a folder."""
    word = quote_word(path)
    return (
        f"if [ -d {word} ]; then cd {word} && find . -type f -exec stat -c '%s %n' {{}} +; "
        f"else stat -L -c '%s .' {word}; fi"
    )


def _export_lines(env: Mapping[str, str]) -> Iterator[str]:
    for name, value in env.items():
        if not _NAME.fullmatch(name):
            raise MeasureError(f"{name!r} cannot be a variable's name", remedy="letters, digits and _ only")
        yield f"export {name}={quote_word(value)}"
