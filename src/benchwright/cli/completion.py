"""Words that may come next on a command line, for the completion of a shell. Standard library only.

A shell waits for the answer while somebody types. So nothing that is slow to import is asked: flags come from a table
that `make schema` writes (`completion_words.tsv`), runs and tags from the store's file itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

WORDS_FILE = "completion_words.tsv"
FILES, FOLDERS = ":files", ":folders"  # answers that let the shell complete by itself
_MOST = 200  # runs, tags or cases that are offered


class CommandWords:
    """The table of one command: its sub-commands, its flags, and what its arguments are."""

    def __init__(self) -> None:
        self.commands: dict[str, str] = {}  # name -> what it does
        self.flags: dict[str, tuple[str, str]] = {}  # flag -> what it takes ("" for nothing), what it does
        self.arguments: list[str] = []  # what each takes; the last one may be followed by *, for any number


def complete(words: Sequence[str]) -> list[str]:
    """Lines to offer for the last of the words, each a word and, behind a tab, what it means.

    `:files` and `:folders` stand for what the shell itself completes.
    """
    if not words:
        return []
    *before, current = words
    table = read_table()
    if not before:
        return _matching(table[""].commands.items(), current)
    path = before[0]
    if path not in table:
        return []
    waiting, count, store = "", 0, ""
    for word in before[1:]:
        if waiting:
            store = word if waiting == "--store" else store
            waiting = ""
        elif word == "--":  # a command to measure follows
            return [FILES]
        elif word.startswith("-"):
            flag, separator, value = word.partition("=")
            if separator:
                store = value if flag == "--store" else store
            elif table[path].flags.get(flag, ("",))[0]:
                waiting = flag
        elif f"{path} {word}" in table:
            path, count = f"{path} {word}", 0
        else:
            count += 1
    return _offer(table[path], current, waiting, count, store)


def _offer(command: CommandWords, current: str, waiting: str, count: int, store: str) -> list[str]:
    if waiting:
        return _values(command.flags[waiting][0], current, store)
    if current.startswith("-"):
        flag, separator, value = current.partition("=")
        if separator and flag in command.flags:
            offered = _values(command.flags[flag][0], value, store)
            return [line if line.startswith(":") else f"{flag}={line}" for line in offered]
        return _matching(((flag, about) for flag, (_, about) in command.flags.items()), current)
    offered = _matching(command.commands.items(), current)
    if command.arguments:
        kind = command.arguments[min(count, len(command.arguments) - 1)]
        if count < len(command.arguments) or kind.endswith("*"):
            offered += _values(kind.rstrip("*"), current, store)
    return offered


def _values(kind: str, current: str, store: str) -> list[str]:
    """What may be given to a flag or an argument that takes this kind."""
    if kind == "file":
        return [FILES]
    if kind == "folder":
        return [FOLDERS]
    if kind.startswith("one of "):
        return _matching(((word, "") for word in kind.removeprefix("one of ").split("|")), current)
    if kind in ("run", "tag", "case"):
        return _matching(_known(kind, current, store), current)
    return []


def _known(kind: str, current: str, store: str) -> Iterator[tuple[str, str]]:
    from benchwright.cli.known_names import case_names, run_names, tag_names

    if kind == "case":
        yield from ((name, "") for name in case_names(store, current, _MOST))
        return
    if kind == "run":
        yield "last", "the newest run"
        yield "last~1", "the one before"
    yield from ((tag, "a tag") for tag in tag_names(store, current, _MOST))
    if kind == "run":
        yield from run_names(store, current, _MOST)


def _matching(offered: Iterable[tuple[str, str]], current: str) -> list[str]:
    lines = []
    for word, about in offered:
        if word.startswith(current) and word.isprintable():
            plain = "".join(c if c.isprintable() else " " for c in about)
            lines.append(f"{word}\t{plain}" if plain else word)
    return lines


def read_table() -> dict[str, CommandWords]:
    """The table of every command by its path: "" for the top, `findings show` for one of several words."""
    table: dict[str, CommandWords] = {"": CommandWords()}
    place = os.path.join(os.path.dirname(__file__), WORDS_FILE)  # noqa: PTH118, PTH120 - pathlib takes longer to import
    with open(place, encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            path, word, takes, about = line.rstrip("\n").split("\t")
            if word.startswith("-"):
                table[path].flags[word] = (takes, about)
            elif word:
                table[path].commands[word] = about
                table[f"{path} {word}".strip()] = CommandWords()
            else:
                table[path].arguments.append(takes)
    return table


def answer(words: Sequence[str]) -> int:
    """Prints the lines of `complete`. Whatever is wrong, nothing is offered: nobody reads an error while typing."""
    try:
        lines = complete(words)
    except Exception:  # the border to a shell that waits
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
