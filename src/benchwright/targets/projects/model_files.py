"""Which files of a project are models that can be measured: by their endings, and by how they begin."""

from __future__ import annotations

import zipfile
from pathlib import Path

_LFS = b"version https://git-lfs"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_MOST_ENTRIES = 100_000  # of an archive whose names are looked at
POINTER = "pointer"
KINDS = {
    ".onnx": "ONNX",
    ".ort": "ONNX Runtime",
    ".tflite": "TensorFlow Lite",
    ".pt2": "PyTorch, exported",
    ".pt": "TorchScript",
    ".jit": "TorchScript",
    ".ts": "TorchScript",
    ".keras": "Keras",
    ".h5": "Keras",
    ".pb": "TensorFlow SavedModel",
    ".xml": "OpenVINO",
}


def model_kind(path: Path) -> str:
    """What kind of model a file is; "" for none, `POINTER` for one that Git LFS has not brought yet."""
    kind = KINDS.get(path.suffix.lower(), "")
    if not kind:
        return ""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return ""
    if head.startswith(_LFS):
        return POINTER
    return kind if head and _looks_like(path, head) else ""


def _looks_like(path: Path, head: bytes) -> bool:
    ending = path.suffix.lower()
    if ending == ".tflite":
        return head[4:8] == b"TFL3"
    if ending == ".ort":
        return head[4:8] == b"ORTM"
    if ending == ".h5":
        return head.startswith(_HDF5)
    if ending == ".pb":
        return path.name == "saved_model.pb"
    if ending == ".xml":
        return b"<net" in head and path.with_suffix(".bin").is_file()
    if ending in (".pt", ".jit", ".ts"):
        return head.startswith(_ZIP) and _holds_code(path)
    if ending in (".pt2", ".keras"):
        return head.startswith(_ZIP)
    return b"\0" in head or not head.isascii()  # a text with this ending is something else


def _holds_code(path: Path) -> bool:
    """Whether a file of PyTorch is a program, and not numbers alone: weights have no code among their entries."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False
    return len(names) <= _MOST_ENTRIES and any(name.partition("/")[2].startswith("code/") for name in names)
