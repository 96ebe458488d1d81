"""A training that torchrun starts as two processes on this machine, with gloo between them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., "subprocess.CompletedProcess[str]"]

TRAIN = """
import os
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
handler = tensorboard_trace_handler(os.environ["BENCHWRIGHT_TRACES"], worker_name=f"rank{rank}")
plan = schedule(wait=4, warmup=1, active=4, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=handler) as profiler:
    for batch in range(9):
        begin = time.perf_counter()
        loss = model(torch.randn(128 // world, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
        if rank == 0 and batch < 4:
            print(f"speed {128 / (time.perf_counter() - begin):.1f} samples/s of {world}", flush=True)
dist.destroy_process_group()
"""

TASK = r"""
[tasks.train]
command = ["PYTHON", "train.py"]
launcher = ["PYTHON", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "{processes}", "--no-python"]
scaling = "strong"
environment = { OMP_NUM_THREADS = "1" }
patterns = ['speed (?P<speed>\S+) samples/s of (?P<world>\d+)']
[tasks.train.metrics]
speed = { compute = "median", unit = "samples/s", better = "higher" }
world = {}
"""


@pytest.mark.soak
def test_two_ranks_train_and_tell_what_they_lost_to_communication(inside: Call, tmp_path: Path) -> None:
    pytest.importorskip("torch.distributed")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "tasks.toml").write_text(TASK.replace("PYTHON", sys.executable))
    ended = inside("run", "tasks.toml", "--processes", "2", "--rounds", "1", "--json")
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr
    (result,) = json.loads(ended.stdout)["data"]["results"]
    metrics = {metric["name"]: metric["estimate"]["point"] for metric in result["metrics"]}
    assert metrics["world"] == 2 and metrics["speed"] > 0
    assert 0 < metrics["communication_exposed"] <= metrics["communication_share"] <= 100
    assert [one["rank"] for one in result["details"]["communication"]] == [0, 1]
