"""Archives, and models that are archives or XML: what is fetched or handed over in one file. See `calls`."""

from __future__ import annotations

import io
import random
import shutil
import tarfile
import zipfile
from pathlib import Path

OPENVINO = b"""<?xml version="1.0"?>
<net name="a" version="11"><layers>
<layer id="0" name="x" type="Parameter"><data shape="1,3,?,..8" element_type="f32"/>
<output><port id="0" names="x,image"/></output></layer>
<layer id="1" name="y/sink" type="Result"><input><port id="0"/></input></layer>
</layers></net>
"""


def archives() -> list[bytes]:
    """The same small tree, packed in several ways."""
    made = []
    for mode in ("w:", "w:gz", "w:bz2", "w:xz"):
        body = io.BytesIO()
        with tarfile.open(fileobj=body, mode=mode) as tar:
            for name, content in _tree().items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            link = tarfile.TarInfo("model/link")
            link.type, link.linkname = tarfile.SYMTYPE, "labels.txt"
            tar.addfile(link)
        made.append(body.getvalue())
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in _tree().items():
            packed.writestr(name, content)
    return [*made, body.getvalue()]


def scripts() -> list[bytes]:
    """What TorchScript's archive has at the places that are looked at."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        packed.writestr("a/data.pkl", b"\x80\x02c__torch__.net\nNet\nq\x00)\x81}b.")
        packed.writestr(
            "a/code/__torch__/net.py", b"class Net(Module):\n  def forward(self, x: Tensor, n: int) -> Tensor:\n"
        )
    return [body.getvalue()]


def unpack(path: Path, draw: random.Random) -> None:
    """Unpacks it into an empty folder."""
    from benchwright.fetch import archives

    folder = path.with_name("unpacked")
    shutil.rmtree(folder, ignore_errors=True)
    archives.unpack(path, folder, most_bytes=1 << 20, most_files=100)


def _tree() -> dict[str, bytes]:
    return {"model/labels.txt": b"cat\ndog\n" * 20, "model/weights.bin": bytes(range(256)) * 4}
