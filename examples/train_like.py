"""Prints what a training script prints: speed and accuracy of each batch, time and accuracy of each epoch."""

from __future__ import annotations

import argparse
import random
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    asked = parser.parse_args()
    draw = random.Random(0)
    for epoch in range(asked.epochs):
        begin = time.perf_counter()
        for batch in range(1, 6):
            time.sleep(0.05)
            speed = asked.batch_size * 25 * draw.uniform(0.95, 1.05)
            accuracy = 1 - 0.8 / (epoch * 5 + batch)
            print(f"Epoch[{epoch}] Batch [{batch * 20}]\tSpeed: {speed:.2f} samples/sec\taccuracy={accuracy:.6f}")
        print(f"Epoch[{epoch}] Train-accuracy={accuracy:.6f}")
        print(f"Epoch[{epoch}] Time cost={time.perf_counter() - begin:.3f}")


if __name__ == "__main__":
    main()
