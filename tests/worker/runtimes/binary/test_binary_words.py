from __future__ import annotations

import pytest

from benchwright.errors import DecodeError
from benchwright.worker.runtimes.binary.words import PlaceholderValues, words


def test_paths_with_spaces_stay_one_word_and_other_values_are_split() -> None:
    names = PlaceholderValues(
        places={"TGTDIR": "/a b/"},
        test={"args": "--x 1", "on": True, "shape": {"n": 3}, "empty": ""},
        test_files={"input_files.data": "/my data/x.txt"},
        model={"args": "not this", "batch": 2},
        model_files={"files.net": "/n"},
        programs={"program": "/bin/p", "files.net": "never"},
    )
    command = "{program} {args} --in={input_files.data} '{TGTDIR}out' {files.net} {on} {shape.n} {batch} {empty} {no}"
    argv, unknown = words(command, names)
    assert argv == ["/bin/p", "--x", "1", "--in=/my data/x.txt", "/a b/out", "/n", "true", "3", "2", "{empty}", "{no}"]
    assert unknown == ("empty", "no")


def test_tokens_are_replaced_first_and_no_shell_reads_the_words() -> None:
    argv, _ = words(
        "{p} {iter} $(rm) ; `x` *", PlaceholderValues(tokens={"iter": "7"}, test={"iter": 5}, programs={"p": "p"})
    )
    assert argv == ["p", "7", "$(rm)", ";", "`x`", "*"]
    with pytest.raises(DecodeError, match="is empty"):
        words("{a}", PlaceholderValues(tokens={"a": " "}))
