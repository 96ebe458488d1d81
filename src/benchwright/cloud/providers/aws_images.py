"""Which image a machine of EC2 starts from: a named one, or the usual Linux for its architecture and accelerators."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchwright.cloud.orders import MachineShape, Order
from benchwright.cloud.providers.aws_errors import code_of
from benchwright.errors import OptionError

_CANONICAL = "099720109477"  # the owner of Ubuntu's images
_AMAZON = "amazon"
_AMAZON_LINUX = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default"
_DISK = 8  # GB, where an image does not say
_UBUNTU_NAMES = {"x86_64": "amd64", "arm64": "arm64"}
FORMS = "ami-0123, ssm:/aws/service/..., or OWNER/NAME with * in the name"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundImage:
    """An image, the name and size of its first disk, and who signs in to what is made of it."""

    id: str
    root_device: str
    disk_gb: int
    login: str


def find_image(ec2: Any, ssm: Callable[[], Any], order: Order, shape: MachineShape) -> FoundImage:
    """The image of an order; an `OptionError` where there is none, or it is for another architecture."""
    text = order.image
    if text.startswith("ami-"):
        found = _by_id(ec2, text)
    elif text.startswith("ssm:"):
        found = _by_id(ec2, _parameter(ssm(), text.removeprefix("ssm:")))
    elif re.fullmatch(r"[\w-]+/\S+", text):
        owner, _, name = text.partition("/")
        found = _newest(ec2, owner, name, shape.architecture)
    elif text:
        raise OptionError(f"aws: {text!r} names no image", remedy=f"write {FORMS}")
    else:
        found = _usual(ec2, ssm, shape)
    if not found:
        wanted = text or f"the usual one for {shape.architecture}"
        raise OptionError(f"aws: no image {wanted} in {order.region}", remedy=f"name one with ?image=: {FORMS}")
    if found.get("Architecture", shape.architecture) != shape.architecture:
        raise OptionError(
            f"aws: the image {found['ImageId']} is for {found['Architecture']}, {order.shape} is {shape.architecture}",
            remedy="name another image, or leave it out",
        )
    root = str(found.get("RootDeviceName") or "/dev/sda1")
    disks = {one.get("DeviceName"): one.get("Ebs", {}) for one in found.get("BlockDeviceMappings", ())}
    size = int(disks.get(root, {}).get("VolumeSize") or _DISK)
    if order.disk_gb and order.disk_gb < size:
        raise OptionError(f"aws: disk={order.disk_gb}: the image needs {size} GB", remedy=f"write disk={size} or more")
    return FoundImage(id=str(found["ImageId"]), root_device=root, disk_gb=order.disk_gb or size, login=_login(found))


def _usual(ec2: Any, ssm: Callable[[], Any], shape: MachineShape) -> dict[str, Any] | None:
    """Ubuntu, whose Python is new enough; with the driver where the shape has a GPU of NVIDIA's; else Amazon Linux."""
    is_gpu = any("nvidia" in name.lower() for name in shape.accelerators)
    if is_gpu:
        name = (
            f"/aws/service/deeplearning/ami/{shape.architecture}/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
        )
        pattern = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04)*"
        owner = _AMAZON
    else:
        word = _UBUNTU_NAMES[shape.architecture]
        name = f"/aws/service/canonical/ubuntu/server/24.04/stable/current/{word}/hvm/ebs-gp3/ami-id"
        pattern, owner = f"ubuntu/images/*/ubuntu-noble-24.04-{word}-server-*", _CANONICAL
    if named := _parameter(ssm(), name, must=False):
        return _by_id(ec2, named)
    if (found := _newest(ec2, owner, pattern, shape.architecture)) or is_gpu:
        return found  # a machine with a GPU and without its driver would measure the CPU
    named = _parameter(ssm(), f"{_AMAZON_LINUX}-{shape.architecture}", must=False)
    return _by_id(ec2, named) if named else None


def _parameter(ssm: Any, name: str, *, must: bool = True) -> str:
    try:
        return str(ssm.get_parameter(Name=name)["Parameter"]["Value"])
    except Exception as error:  # of a class that the library makes at run time
        if code_of(error) not in ("ParameterNotFound", "ValidationException", "AccessDeniedException"):
            raise
        if must:
            raise OptionError(f"aws: there is no parameter {name}", remedy=f"write the image as {FORMS}") from None
        return ""  # the account may lack the right to read it: images can be looked for by name as well


def _by_id(ec2: Any, image_id: str) -> dict[str, Any] | None:
    try:
        found = ec2.describe_images(ImageIds=[image_id])["Images"]
    except Exception as error:  # of a class that the library makes at run time
        if not code_of(error).startswith("InvalidAMIID"):
            raise
        return None
    return found[0] if found else None


def _newest(ec2: Any, owner: str, name: str, architecture: str) -> dict[str, Any] | None:
    filters = {"name": name, "architecture": architecture, "state": "available", "virtualization-type": "hvm"}
    asked = [{"Name": key, "Values": [value]} for key, value in filters.items()]
    found = ec2.describe_images(Owners=[owner], Filters=asked)["Images"]
    return max(found, key=lambda image: str(image.get("CreationDate", "")), default=None)


def _login(image: dict[str, Any]) -> str:
    """The user of an image, by what it is called: no cloud says it."""
    words = f"{image.get('Name', '')} {image.get('Description', '')}".lower()
    if "ubuntu" in words:
        return "ubuntu"
    return "admin" if "debian" in words else "ec2-user"
