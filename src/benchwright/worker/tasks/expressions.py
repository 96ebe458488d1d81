"""What can be known of a regular expression from its text, so that it can be searched for quickly.

Two things are worth knowing. A piece of plain text that every hit must contain: where that text is absent, the
expression need not be tried. And a rewritten expression that never matches a line's end, so that one search over many
lines finds what a search in each of them would. Where the text is too clever to tell, the answer is none, which is
slower and never wrong.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

_LINE_END = "\n"
_WITHOUT_LINE_END = {"s": r"[^\S\n]", "D": r"[^\d\n]", "W": r"[^\w\n]"}
_ESCAPE = re.compile(r"\\(?:\d{1,3}|x.{2}|u.{4}|U.{8}|N\{[^}]*\}|.)")
_CODES = frozenset("xuU")
_SPECIAL = frozenset(".^$*+?{}[]()|\\")
_QUANTIFIERS = frozenset("*?{")
_CLEVER = frozenset("nNAZz0")  # a line's end or the text's; a name and an octal code may be anything
# What may follow a bracket: a comment, flags, a group's name, a reference; a look around or a condition is clever.
_HEAD = re.compile(
    r"\((?:(?P<comment>\?#[^)]*\))|\?P<\w+>|\?P=\w+\)|\?[:>]|(?P<clever>\?(?:<?[=!]|\())"
    r"|\?(?P<flags>[aiLmsux-]+)[:)])?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionFacts:
    """`needed`: text in every hit, or "". `bounded`: an equal expression over several lines, or "" when none is known.

    `prefixed` tells that every hit begins with the same text, `spans` that the expression asks for white space or a
    line's end, so a hit may reach over lines.
    """

    needed: str
    bounded: str
    prefixed: bool
    spans: bool


def inspect(text: str) -> ExpressionFacts:
    """What is known of the expression, which must compile."""
    reader = _Reader(text)
    reader.read()
    return ExpressionFacts(
        needed="" if reader.folded else max([*reader.runs, ""], key=len),
        bounded="" if reader.clever or not _compiles(reader.rewritten) else reader.rewritten,
        prefixed=reader.prefixed and not reader.folded,
        spans=reader.spans,
    )


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(text)
        except re.error:
            return False
    return True


class _Reader:
    """Goes through an expression once, atom by atom."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._parts: list[str] = []
        self._run = ""
        self.runs: list[str] = []
        self.clever = self.folded = self.spans = self.prefixed = False

    @property
    def rewritten(self) -> str:
        """The expression so far, unable to match a line's end."""
        return "".join(self._parts)

    def read(self) -> None:
        while self._at < len(self._text) and not (self.clever and self.folded):  # nothing more to be known then
            char = self._text[self._at]
            if char == "\\":
                self._escape()
            elif char == "[":
                self._set()
            elif char == "(":
                self._open()
            elif char in _QUANTIFIERS or char == "+":
                self._repeat(char)
            else:
                self._plain(char)
        self._end_run()

    def _take(self, count: int) -> str:
        text = self._text[self._at : self._at + count]
        self._at += count
        return text

    def _plain(self, char: str) -> None:
        self._parts.append(self._take(1))
        if char == _LINE_END:
            self.spans = self.clever = True
        if char not in _SPECIAL:
            self._literal(char)
            return
        self._end_run()
        if char == ")":
            self._depth -= 1
        elif char == "|" and self._depth == 0:
            self.folded = True  # a hit of one side need not hold what the other needs

    def _literal(self, char: str) -> None:
        if self._depth == 0:
            self._run += char
            self.prefixed |= len(self._parts) == 1

    def _repeat(self, char: str) -> None:
        """What may be absent is not needed; what may come again ends a run."""
        self._parts.append(self._take(1))
        if char != "+":
            self._run = self._run[:-1]
            self.prefixed &= bool(self._run or self.runs)
        self._end_run()
        if char == "{":
            while self._at < len(self._text) and self._text[self._at] in "0123456789,}":
                self._parts.append(self._take(1))

    def _end_run(self) -> None:
        if self._run:
            self.runs.append(self._run)
        self._run = ""

    def _escape(self) -> None:
        kind = self._text[self._at + 1]
        if not kind.isalnum():
            self._parts.append(self._take(2))
            self._literal(kind)
            self.clever |= kind == _LINE_END
            return
        self._end_run()
        whole = _ESCAPE.match(self._text, self._at)
        assert whole is not None, "a backslash and what follows"
        atom = self._take(len(whole[0]))
        self._parts.append(_WITHOUT_LINE_END.get(kind, atom))
        self.spans |= kind in "sn"
        self.clever |= kind in _CLEVER or (kind in _CODES and _matches_line_end(atom))

    def _set(self) -> None:
        self._end_run()
        begin = self._at
        negated = self._text.startswith("[^", begin)
        self._at += 2 if negated else 1
        if self._text.startswith("]", self._at):  # first in a set, it is a member
            self._at += 1
        while self._text[self._at] != "]":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1
        whole = self._text[begin : self._at]
        if negated:
            members = (
                rf"\{whole[2:]}" if whole[2] in "]-" else whole[2:]
            )  # neither an end nor a range from the line end
            self._parts.append(rf"[^\n{members}")
        elif _matches_line_end(whole):
            self.spans = True
            self._parts.append(rf"(?:(?!\n){whole})")
        else:
            self._parts.append(whole)

    def _open(self) -> None:
        head = _HEAD.match(self._text, self._at)
        assert head is not None, "a bracket at least"
        self._at = head.end()
        self._parts.append(head[0])
        if head["comment"]:  # a quantifier behind it means what stands before it
            return
        self._end_run()
        if head["flags"]:
            self.folded |= bool(set(head["flags"]) & set("ix"))  # blanks of a verbose expression are not text
            self.spans |= "s" in head["flags"]
        self.clever |= bool(head["clever"]) or bool(set(head["flags"] or "") - set("im"))
        if not head[0].endswith(")"):
            self._depth += 1


def _matches_line_end(atom: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the whole expression was compiled before, and has warned
        return re.match(atom, _LINE_END) is not None
