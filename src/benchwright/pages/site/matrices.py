"""Matrices of a site: every metric by the usual pairs of dimensions, under every address that asks for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from benchwright.errors import UserError
from benchwright.pages.site.names import answer_name
from benchwright.store.archive import Archive
from benchwright.pages.matrix import matrix
from benchwright.pages.shapes import Matrix

_DIMENSIONS = 4  # of which every two are crossed
_MOST = 600  # files


def matrices(archive: Archive) -> Iterator[tuple[list[str], Matrix]]:
    """Names and matrices, the most usual first."""
    first = _asked(archive, {})
    files: dict[tuple[str, str, str, str], str] = {}
    for query in itertools.islice(_queries(first), _MOST):
        try:
            view = _asked(archive, query)
        except UserError:  # a dimension that this metric does not have
            continue
        names = [answer_name("matrix", query=query)]
        # What is left out of a query is chosen by the view, so that several queries mean the same matrix.
        same = (view.metric, view.row_dimension, view.column_dimension, repr(sorted(view.chosen.items())))
        if known := files.get(same):
            names = [known, *names]
        files[same] = names[0]
        yield names, view


def _queries(first: Matrix) -> Iterator[Mapping[str, str]]:
    dimensions = ["", *first.dimensions[:_DIMENSIONS]]
    metrics = ["", *first.metrics]
    yield from ({"metric": metric} for metric in metrics)
    pairs = [(rows, columns) for rows, columns in itertools.product(dimensions, repeat=2) if rows != columns]
    for metric in metrics:
        yield from ({"metric": metric, "rows": rows, "columns": columns} for rows, columns in pairs)
    for metric in metrics:
        for dimension, choices in first.choices.items():
            yield from ({"metric": metric, dimension: choice} for choice in choices)


def _asked(archive: Archive, query: Mapping[str, str]) -> Matrix:
    fixed = {name: value for name, value in query.items() if name not in ("metric", "rows", "columns")}
    return matrix(
        archive,
        metric=query.get("metric", ""),
        rows=query.get("rows", ""),
        columns=query.get("columns", ""),
        baseline="",
        chosen=fixed,
    )
