"""Trains a small network on handwritten digits and prints what a training prints: speed, loss, accuracy, times."""

from __future__ import annotations

import argparse
import time

import torch
from batches import TRAINED, batches, digits
from torch import nn
from torch.nn import functional


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow-input", choices=["true", "false"], default="false")
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)
    images, labels = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=asked.learning_rate)
    step = 0
    for epoch in range(1, asked.epochs + 1):
        model.train()
        spent = {"input": 0.0, "forward": 0.0, "backward": 0.0}
        begin = last = time.perf_counter()
        stream = batches(images[:TRAINED], asked.batch_size, asked.seed + epoch, slow=asked.slow_input == "true")
        while True:
            start = time.perf_counter()
            chosen = next(stream, None)
            fed = time.perf_counter()
            spent["input"] += fed - start
            if chosen is None:
                break
            loss = functional.cross_entropy(model(images[chosen]), labels[chosen])
            known = time.perf_counter()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            now = time.perf_counter()
            spent["forward"] += known - fed
            spent["backward"] += now - known
            step += 1
            if step % 5 == 0:
                print(f"step {step} speed {5 * asked.batch_size / (now - last):.0f} images/s loss {loss:.4f}")
                last = now
        took = time.perf_counter() - begin
        model.eval()
        with torch.no_grad():
            accuracy = (model(images[TRAINED:]).argmax(1) == labels[TRAINED:]).float().mean()
        parts = " ".join(f"{name} {seconds:.4f}" for name, seconds in spent.items())
        print(f"epoch {epoch} step {step} accuracy {accuracy:.4f} time {took:.4f} {parts}")


if __name__ == "__main__":
    main()
