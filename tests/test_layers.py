"""The contracts that `make lint` checks name everything, heavy libraries have one home, and the worker stands on the
standard library.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright import plugins

# Where a third-party library may be imported; everywhere else it is reached through what lives there.
HOMES = {
    "torch": (
        "worker/runtimes/torch",
        "worker/runtimes/inputs/torch_feeds",
        "worker/runtimes/pipeline/examples",
        "worker/profilers/torch",
        "compat/neuronperf/",
    ),
    "pytest": ("pytest_plugin/", "worker/runtimes/pytest_node.py"),
    "tensorflow": ("worker/runtimes/tensorflow", "worker/profilers/tensorflow"),
    "jax": ("worker/runtimes/jax", "worker/profilers/jax", "compat/neuronperf/"),
    "python_on_whales": ("execution/images/",),
    "ai_edge_litert": ("worker/runtimes/litert",),
    "fsspec": ("fetch/", "exchange/uploads/"),
    "gcsfs": ("fetch/",),
    "google": ("exchange/uploads/bigquery", "fetch/clouds", "cloud/providers/google"),
    "aiohttp": ("fetch/clouds",),
    "requests": ("exchange/uploads/bigquery",),
    "matplotlib": ("report/", "compat/perfzero/plots"),
    "onnxruntime": ("worker/runtimes/onnxruntime", "compat/neuronperf/"),
    "onnx": ("worker/runtimes/onnxruntime",),
    "oci": ("cloud/providers/oci",),
    "openvino": ("worker/runtimes/openvino", "compat/neuronperf/"),
    "sqlalchemy": ("store/",),
    "alembic": ("store/",),
    "psycopg": ("store/",),
    "pynvml": ("machine/nvml",),
    "click": ("cli/",),
    "rich": ("report/",),
    "apprise": ("notify/apprise",),
    "azure": ("cloud/providers/azure",),
    "boto3": ("cloud/providers/aws",),
    "botocore": ("cloud/providers/aws",),
    "ray": ("execution/hosts/ray_bridge.py",),
    "pandas": ("report/",),
    "pyarrow": ("store/",),
    "yaml": ("targets/specs/places.py",),
    "anyio": ("server/",),
    "fastapi": ("server/",),
    "grpc": ("worker/endpoints/grpc_client.py",),
    "tokenizers": ("worker/endpoints/tokens.py",),
    "starlette": ("server/",),
    "uvicorn": ("server/",),
    "prometheus_client": ("server/",),
    "orjson": ("pages/view_json.py", "schema/quick_json.py", "server/"),
    "httpx2": ("store/remote",),
    "joserfc": ("server/openid",),
    "httptools": ("worker/endpoints/connection.py",),
    "uvloop": ("worker/endpoints/client.py",),
    "httpcore2": ("store/remote",),  # what httpx2 is built on: its connections are watched
}
EVERYWHERE = {"numpy", "psutil"}


def test_the_contracts_name_every_adapter(root: Path) -> None:
    tool = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    listed = {m for c in tool["contracts"] if c["type"] == "independence" for m in c["modules"]}
    expected = {
        reference.partition(":")[0]
        for group in ("runtimes", "sources", "monitors", "profilers", "operators", "clouds", "notifiers")
        for reference in plugins.BUILTIN[group].values()
    }
    assert listed == expected


def test_the_layers_name_every_module(root: Path) -> None:
    tool = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(c for c in tool["contracts"] if c["id"] == "layers")["layers"]
    named = {name.strip(" ()") for layer in layers for part in layer.split(":") for name in part.split("|")}
    package = root / "src" / "benchwright"
    real = {p.stem for p in package.glob("*.py")} | {p.parent.name for p in package.glob("*/__init__.py")}
    assert real - named == {"__init__", "__main__", "_moved", "_version"}


def test_a_third_party_library_is_imported_in_one_place(root: Path) -> None:
    astray = [
        f"{path}: {library}"
        for path, library in _third_party_imports(root / "src" / "benchwright")
        if library not in EVERYWHERE and not path.startswith(HOMES.get(library, ()))
    ]
    assert astray == []


@pytest.mark.parametrize(
    "module",
    [
        *("worker.main", "worker.engine.engine", "worker.runtimes.fake", "schema", "schema.json_schema"),
        *("worker.endpoints.exchanges", "worker.endpoints.data_sets", "worker.endpoints.traces"),
    ],
)
def test_what_runs_in_the_worker_needs_nothing_but_python(module: str, root: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(root / 'src')!r}); import benchwright.{module}"
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_no_file_outgrows_its_idea(root: Path) -> None:
    sources = [*root.glob("src/**/*.py"), *root.glob("tests/**/*.py"), *root.glob("examples/**/*.py")]
    long = [str(p.relative_to(root)) for p in sources if len(p.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []


def _third_party_imports(package: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(package.rglob("*.py")):
        for node in _walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in {n.partition(".")[0] for n in names} - set(sys.stdlib_module_names) - {"benchwright"}:
                yield path.relative_to(package).as_posix(), name


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only type checkers see, and expressions, which import nothing."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        hidden = isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        below = node.orelse if isinstance(node, ast.If) and hidden else ast.iter_child_nodes(node)
        waiting += [child for child in below if not isinstance(child, ast.expr)]
