"""The real servers that tests measure: llama.cpp, MLServer, LitServe, and `transformers serve` in the long tests."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from served.processes import HERE, ROOT, free_ports, python, running

LONG = 600.0  # seconds for PyTorch to be imported, at worst
PLUS = {  # what MLServer's model takes and gives
    "x": ("FP32", [-1, 4]),
    "n": ("INT64", [-1, 2]),
    "s": ("BYTES", [-1]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaServer:
    """llama.cpp's own server with four slots of 2,048 tokens: chats, completions, embeddings, `/metrics`."""

    url: str
    tokenizer: Path  # the same one as a file
    pid: int
    model: str = "tiny"


@dataclass(frozen=True, slots=True, kw_only=True)
class KserveServer:
    """MLServer, whose model adds one to `x` (FP32) and `n` (INT64), and gives `s` (BYTES) back."""

    url: str
    grpc: str  # host and port
    pid: int
    model: str = "plus"


@dataclass(frozen=True, slots=True, kw_only=True)
class LitServer:
    """LitServe: `{"x": [1]}` to /predict gives `{"y": [2]}`; chats say `word0 word1 ...` without counting tokens."""

    url: str
    pid: int
    model: str = "lit"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersServer:
    """`transformers serve`: the role long before the content, usage on the finish chunk, no `[DONE]`, chats alone."""

    url: str
    tokenizer: Path
    pid: int
    model: str


@contextlib.contextmanager
def llama(folder: Path) -> Iterator[LlamaServer]:
    """Makes a random Llama, and serves it."""
    make_llama(folder)
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = [python("servers"), str(HERE / "llama_program.py"), str(folder / "tiny.gguf"), str(port)]
    with running(command, f"{url}/health", folder) as pid:
        yield LlamaServer(url=url, tokenizer=folder / "tokenizer.json", pid=pid)


def make_llama(folder: Path) -> None:
    """Writes `tokenizer.json`, trained on our own pages, and `tiny.gguf`."""
    texts = [str(page) for page in sorted((ROOT / "docs").glob("*.md"))]
    subprocess.run([python("servers"), str(HERE / "tiny_llama.py"), str(folder), *texts], check=True)


@contextlib.contextmanager
def mlserver(folder: Path) -> Iterator[KserveServer]:
    """Serves the model of `plus_model` over HTTP and gRPC, in one process."""
    http, grpc, metrics = free_ports(3)
    ports = {"http_port": http, "grpc_port": grpc, "metrics_port": metrics}
    settings = {"host": "127.0.0.1", **ports, "metrics_endpoint": None, "parallel_workers": 0, "debug": False}
    (folder / "settings.json").write_text(json.dumps(settings))
    tensors = [{"name": name, "datatype": kind, "shape": shape} for name, (kind, shape) in PLUS.items()]
    model = {"name": "plus", "implementation": "plus_model.Plus", "inputs": tensors, "outputs": tensors}
    place = folder / "plus"
    place.mkdir()
    (place / "model-settings.json").write_text(json.dumps(model))
    (place / "plus_model.py").write_text((HERE / "plus_model.py").read_text(encoding="utf-8"))
    url = f"http://127.0.0.1:{http}"
    command = [python("servers"), str(HERE / "mlserver_program.py"), str(folder)]
    with running(command, f"{url}/v2/models/plus/ready", folder) as pid:
        yield KserveServer(url=url, grpc=f"127.0.0.1:{grpc}", pid=pid)


@contextlib.contextmanager
def litserve(folder: Path) -> Iterator[LitServer]:
    """Serves a plain POST and a chat."""
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = [python("servers"), str(HERE / "litserve_program.py"), str(port)]
    with running(command, f"{url}/health", folder) as pid:
        yield LitServer(url=url, pid=pid)


@contextlib.contextmanager
def transformers(folder: Path) -> Iterator[TransformersServer]:
    """Serves a random Llama with PyTorch. To import it all takes seconds, so it is for the long tests."""
    make_llama(folder)  # for its tokenizer
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = [python("transformers"), str(HERE / "transformers_program.py"), str(folder), str(port)]
    with running(command, f"{url}/health", folder, LONG) as pid:
        yield TransformersServer(url=url, tokenizer=folder / "tokenizer.json", pid=pid, model=str(folder / "model"))
