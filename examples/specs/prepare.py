"""Puts the files of basic-pitch.yaml beside it, from the wheel of that name: `pip install --no-deps basic-pitch`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

FOLDER = Path("saved_models", "icassp_2022")
FILES = ("nmp.onnx", "nmp.tflite")


def main() -> int:
    """Copies the model in both formats; nothing of the package is imported, for that needs much more."""
    found = importlib.util.find_spec("basic_pitch")
    if found is None or not found.submodule_search_locations:
        print("basic-pitch is not installed: pip install --no-deps basic-pitch", file=sys.stderr)
        return 2
    source = Path(found.submodule_search_locations[0], FOLDER)
    target = Path(__file__).resolve().parent / "models"
    target.mkdir(exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)
        print(target / name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
