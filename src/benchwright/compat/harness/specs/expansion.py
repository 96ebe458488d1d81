"""One test for each shape and each file of a list: what a person writes once and runs many times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchwright.targets.specs.places import SpecProblem

Place = tuple[str | int, ...]
Tell = Callable[[Place, str, str], None]  # a problem of the test: where in it, what, remedy

FILE_GROUPS = ("input_files", "output_files")


def expand_test(test: Mapping[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """The tests that one becomes: the i-th has the i-th shape of every input; files in lists are gone through too.

    Metric `generic` is one test whatever it says. A test whose shapes do not fit together becomes none, and is told.
    """
    if test.get("metric") == "generic":
        return [dict(test)]
    count = _count_shapes(test, tell)
    if count is None:
        return []
    return [last for one in _expand_shapes(test, count) for last in _expand_files(one, tell)]


def number_tests(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tests of one file with `{ID}` in their identifiers replaced by their position, from 0."""
    return [dict(test) | _identifier(test, i) for i, test in enumerate(tests)]


def _identifier(test: Mapping[str, Any], position: int) -> dict[str, Any]:
    if not test.get("identifier"):
        return {}
    return {"identifier": str(test["identifier"]).replace("{ID}", str(position))}


def _count_shapes(test: Mapping[str, Any], tell: Tell) -> int | None:
    """How many shapes each input has; 1 without inputs, None when they cannot be gone through together."""
    inputs = test.get("inputs", {})
    if not isinstance(inputs, Mapping):
        tell(("inputs",), "`inputs` is a mapping of names", '"inputs": {"data": {"shapes": [[1, 3]], "type": "float"}}')
        return None
    counts: dict[str, int] = {}
    fine = True
    for name, one in inputs.items():
        found = list(_check_input(name, one))
        for path, message, remedy in found:
            tell(path, message, remedy)
        fine = fine and not found
        if not found:
            counts[name] = len(one["shapes"])
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        tell(("inputs",), f"inputs have different numbers of shapes: {said}", "the i-th shapes belong together")
        return None
    return next(iter(counts.values()), 1) if fine else None


def _check_input(name: str, one: Any) -> Iterator[tuple[Place, str, str]]:
    """Returns the problems of one input."""
    place: Place = ("inputs", name)
    shapes = one.get("shapes") if isinstance(one, Mapping) else None
    if not isinstance(shapes, list) or not shapes:
        yield place, f"input {name} has no `shapes`", '"shapes": [[1, 3, 224, 224]]'
        return
    if not isinstance(one.get("type"), str):
        yield place, f"input {name} has no `type`", '"type": "float"'
    for i, shape in enumerate(shapes):
        if not isinstance(shape, list) or not all(_is_size(size) for size in shape):
            yield (*place, "shapes", i), f"a shape of {name} is not a list of sizes", "such as [1, 3, 224, 224]"
            return
    ranks = sorted({len(shape) for shape in shapes})
    if len(ranks) > 1:
        said = " and ".join(str(rank) for rank in ranks)
        yield (*place, "shapes"), f"shapes of {name} have {said} dimensions", "give each rank a test of its own"


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= -1


def _expand_shapes(test: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    if not test.get("inputs"):
        return [dict(test)]
    return [
        {**test, "inputs": {name: {**one, "shapes": [one["shapes"][i]]} for name, one in test["inputs"].items()}}
        for i in range(count)
    ]


def _expand_files(test: dict[str, Any], tell: Tell) -> list[dict[str, Any]]:
    """One test for each item of the lists among its files. All lists are as long as each other; others stay."""
    groups = {group: test[group] for group in FILE_GROUPS if isinstance(test.get(group), Mapping)}
    lengths = {
        f"{group}.{name}": len(value)
        for group, files in groups.items()
        for name, value in files.items()
        if isinstance(value, list)
    }
    if not lengths:
        return [test]
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        tell((next(iter(groups)),), f"lists of files have different lengths: {said}", "the i-th files belong together")
        return []
    return [
        {**test, **{group: {name: _item(value, i) for name, value in files.items()} for group, files in groups.items()}}
        for i in range(next(iter(lengths.values())))
    ]


def _item(value: Any, position: int) -> Any:
    return value[position] if isinstance(value, list) else value


def problem_of(document_at: Callable[..., str], *around: str | int, problems: list[SpecProblem]) -> Tell:
    """A `Tell` that adds an error of the file's place to `problems`."""

    def tell(path: Place, message: str, remedy: str) -> None:
        problems.append(SpecProblem(where=document_at(*around, *path), message=message, remedy=remedy))

    return tell
