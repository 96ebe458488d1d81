"""tiny_llama.py FOLDER TEXT...: a tokenizer trained on the texts, and a random Llama in llama.cpp's format.

FOLDER gets `tokenizer.json` and `tiny.gguf`: 2 layers, 0.6 million parameters. The same texts give the same files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ("<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>")
TEMPLATE = (
    "{{bos_token}}{% for m in messages %}<|{{m.role}}|>{{m.content}}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
VOCABULARY, WIDTH, INNER, LAYERS, HEADS, CONTEXT = 1024, 128, 256, 2, 4, 2048


def main(folder: Path, texts: list[Path]) -> None:
    """Writes both files, each of them at once."""
    tokenizer = _train(text.read_text(encoding="utf-8") for text in texts)
    tokenizer.save(str(folder / "tokenizer.json"))
    unfinished = folder / "unfinished.gguf"
    _write(unfinished, json.loads(tokenizer.to_str())["model"])
    unfinished.rename(folder / "tiny.gguf")


def _train(texts: Any) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _write(path: Path, model: dict[str, Any]) -> None:
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(model["vocab"]))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer, model)
    _add_tensors(writer, len(model["vocab"]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, model: dict[str, Any]) -> None:
    words = sorted(model["vocab"], key=model["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if word in SPECIAL else gguf.TokenType.NORMAL for word in words]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
    writer.add_bos_token_id(words.index("<s>"))
    writer.add_eos_token_id(words.index("</s>"))
    writer.add_chat_template(TEMPLATE)


def _add_tensors(writer: Any, vocabulary: int) -> None:
    random = np.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        drawn = random.standard_normal(shape) * 0.02 if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", drawn.astype(np.float32))

    add("token_embd", vocabulary, WIDTH)
    add("output_norm", WIDTH)
    add("output", vocabulary, WIDTH)
    for block in (f"blk.{index}" for index in range(LAYERS)):
        add(f"{block}.attn_norm", WIDTH)
        add(f"{block}.ffn_norm", WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}.{part}", WIDTH, WIDTH)
        add(f"{block}.ffn_gate", INNER, WIDTH)
        add(f"{block}.ffn_up", INNER, WIDTH)
        add(f"{block}.ffn_down", WIDTH, INNER)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(text) for text in sys.argv[2:]])
