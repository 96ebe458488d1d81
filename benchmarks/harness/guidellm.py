"""GuideLLM as a peer. It brings PyTorch with it, so it has an environment of its own: BENCHWRIGHT_GUIDELLM names it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

VARIABLE = "BENCHWRIGHT_GUIDELLM"
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def program() -> str | None:
    """Its command, if it is installed."""
    return shutil.which(os.environ.get(VARIABLE) or "guidellm")


def times(url: str, model: str, tokenizer: Path, *, users: int, requests: int, lengths: tuple[int, int]) -> Any:
    """Seconds to the first token and between tokens, of each request that succeeded, by its own record of instants.

    Between tokens is its definition: from the first to the last token, over one less than there are.
    """
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory() as name:
        backend = f"kind=openai_http,target={url},model={model}"
        data = f"kind=synthetic_text,prompt_tokens={lengths[0]},output_tokens={lengths[1]}"
        command = [found, "run", "--backend", backend, "--data", data, "--disable-progress"]
        command += ["--profile", f"kind=concurrent,streams={users}"]
        command += ["--constraint", f"kind=max_requests,count={requests}"]
        command += ["--tokenizer", f"kind=huggingface_auto,model={_folder_of(tokenizer, Path(name))}"]
        own = {**os.environ, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(command, cwd=name, env=own, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"GuideLLM ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        told = json.loads(Path(name, "benchmarks.json").read_text(encoding="utf-8"))["benchmarks"][0]
    first, between = [], []
    for request in told["requests"]["successful"]:
        instants, tokens = request["info"]["timings"], request["output_metrics"]["total_tokens"]
        first.append(instants["first_token_iteration"] - instants["request_start"])
        between.append((instants["last_token_iteration"] - instants["first_token_iteration"]) / (tokens - 1))
    return {"ttft": first, "tpot": between}


def _folder_of(tokenizer: Path, parent: Path) -> Path:
    """The tokenizer in the form in which transformers reads it."""
    folder = parent / "tokenizer"
    folder.mkdir()
    shutil.copy(tokenizer, folder / "tokenizer.json")
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE}
    kind |= {"bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 1024}), encoding="utf-8")
    return folder
