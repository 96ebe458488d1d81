"""A PyTorch model by its class: `benchwright run examples/torch_mlp.py::Mlp --runtime torch --batch-size 1,8`."""

import torch
from torch import nn


class Mlp(nn.Module):
    """Two hidden layers; the weights come from the seed that the runtime sets."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    def example_inputs(self, batch_size: int) -> tuple[torch.Tensor, ...]:
        """What one call is given, so that no --shape is needed."""
        return (torch.rand(batch_size, 64),)


def wide() -> nn.Module:
    """A factory works as well: `torch_mlp.py::wide`."""
    return Mlp(width=1024)
