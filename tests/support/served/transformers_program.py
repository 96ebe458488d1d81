"""transformers_program.py FOLDER PORT: a random Llama with the folder's tokenizer.json, served by `transformers serve`.

The model is written into FOLDER/model, which is also its name for requests.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lifeline import end_with_standard_input

TEMPLATE = (
    "{{bos_token}}{% for m in messages %}<|{{m.role}}|>{{m.content}}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK")


def main(folder: Path, port: str) -> None:
    os.environ.update(dict.fromkeys(OFFLINE, "1"), HF_HOME=str(folder / "cache"))
    _write(folder)
    from transformers.cli.transformers import main as transformers

    sys.argv[1:] = ["serve", str(folder / "model"), "--host", "127.0.0.1", "--port", port, "--device", "cpu"]
    transformers()


def _write(folder: Path) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    sizes = {"vocab_size": 1024, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 2048}
    LlamaForCausalLM(LlamaConfig(**sizes, **heads, **ends)).save_pretrained(folder / "model")
    words = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **words)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder / "model")


if __name__ == "__main__":
    end_with_standard_input()
    main(Path(sys.argv[1]), sys.argv[2])
