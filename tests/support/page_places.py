"""Every kind of page of the sample store, by name: what pictures and checks of all of them go through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen


def page_places(server: str) -> Iterator[tuple[str, str]]:
    """Name and address of every kind of page of a server on the sample store."""

    def read(path: str) -> Any:
        with urlopen(f"{server}api/v1/{path}") as answer:
            return json.load(answer)

    series = [one["key"] for one in read("series?metric=latency_p50&limit=3")["series"]]
    runs = [one["id"] for one in read("runs?limit=5")["runs"]]
    result = read(f"runs/{runs[2]}")["cases"][0]["results"][0]
    yield from (
        (name, f"#/{name}") for name in ("overview", "findings", "series", "matrix", "runs", "machines", "lab", "live")
    )
    yield "finding", f"#/findings/{read('findings?state=open')['findings'][0]['id']}"
    yield "finding-acknowledged", f"#/findings/{read('findings?state=acknowledged')['findings'][0]['id']}"
    yield "cause", f"#/findings/{read('causes?state=open')['causes'][0]['id']}"
    yield "findings-each", "#/findings?each=yes"
    yield "one-series", f"#/series/{series[0]}"
    yield "three-series", f"#/series/{','.join(series)}"
    yield "compare", f"#/compare?a=run:{runs[4]}&b=run:{runs[2]}"
    yield "compare-empty", "#/compare"
    several = "&".join(
        f"{name}=runtime:{one}" for name, one in zip("abc", ("onnxruntime", "openvino", "torch"), strict=True)
    )
    opened = read("compare?a=runtime:onnxruntime&b=runtime:openvino&b=runtime:torch&group=case&changed=true&limit=1")
    yield "compare-several", f"#/compare?{several}&suites=1&rest=1&open={opened['lines'][0]['series'][0]}"
    yield "pareto", "#/matrix?view=pareto"
    yield "run", f"#/runs/{runs[1]}"
    yield "result", f"#/results/{result}"
    yield "machine", f"#/machines/{read('machines')['machines'][0]['key']}"
    yield "views", "#/views"
    for name in ("rules", "notifications", "tokens", "people", "audit"):
        yield f"settings-{name}", f"#/settings/{name}"
    yield "nowhere", "#/nowhere"
