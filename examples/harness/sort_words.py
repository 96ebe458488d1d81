#!/usr/bin/env python3
"""A program that measures itself and prints result rows, as the binaries of FAI-PEP do."""

import argparse
import json
import time

parser = argparse.ArgumentParser()
parser.add_argument("--file", required=True)
parser.add_argument("--warmup", type=int, default=0)
parser.add_argument("--iter", type=int, default=1)
given = parser.parse_args()

with open(given.file, encoding="utf-8") as file:
    words = file.read().split() * 2000

for i in range(given.warmup + given.iter):
    begin = time.perf_counter()
    sorted(words)
    microseconds = (time.perf_counter() - begin) * 1e6
    if i >= given.warmup:
        row = {"type": "NET", "metric": "latency", "unit": "us", "value": microseconds}
        print("PyTorchObserver", json.dumps(row), flush=True)
