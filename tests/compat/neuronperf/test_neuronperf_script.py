"""A user's own script, with one changed import and no `if __name__ == "__main__":`."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import torch

import benchwright.compat.neuronperf as npf
import benchwright.compat.neuronperf.torch


class Model(torch.nn.Module):
    def forward(self, x):
        x = x * 3
        return x + 1


def preprocess(image):
    return image / 255


batch_sizes = [4]
inputs = [torch.ones((batch_size, 3, 8, 8)) for batch_size in batch_sizes]
model = Model()
model.eval()

# prepare
filename = "small.json"
npf.torch.compile(model, inputs, batch_sizes=batch_sizes, filename=filename, model_name="small")

# measure
reports = npf.torch.benchmark(
    filename, inputs, n_models=1, workers_per_model=1, duration=0.3, preprocess_fn=preprocess, cost_per_hour=2.0
)
npf.print_reports(reports)
npf.write_csv(reports, "reports.csv")
npf.write_json(reports, "reports.json")
"""


@pytest.mark.timeout(300)  # two processes import torch, beside other tests
def test_a_users_script_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=290, check=False
    )
    assert ended.returncode == 0, ended.stderr
    header, *rows = ended.stdout.splitlines()
    assert header.split()[0] == "throughput_avg"
    assert len(rows) == 1 and not any("failed" in row for row in rows)
    told = json.loads((tmp_path / "reports.json").read_text())
    assert [(r["batch_size"], r["n_models"]) for r in told] == [(4, 1)]
    assert {r["status"] for r in told} == {"finished"}
    assert all(r["preprocess_avg_ms"] > 0 and r["cost_per_1m_inf"] > 0 for r in told)
    table = list(csv.DictReader((tmp_path / "reports.csv").read_text().splitlines()))
    assert [row["model_name"] for row in table] == ["small"]
    assert re.search(r"small_b4_[0-9a-f]{8}\.pt2", ended.stderr)
    assert "1/1 small: batch 4, 1 copy, 1 worker" in ended.stderr
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == [
        "models",
        "reports.csv",
        "reports.json",
        "script.py",
        "small.json",
    ]
