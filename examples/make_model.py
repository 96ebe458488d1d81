"""Writes a small ONNX model with seeded weights: `python examples/make_model.py tiny model.onnx`.

`tiny` is a perceptron of about 18 µs a call on one core, `small` a convolutional network of about 2 ms. The leading
dimension is dynamic, so any --batch-size fits; `--batch N` fixes it.
"""

import argparse
import itertools
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 0


def perceptron(sizes: Sequence[int], batch: int | str = "batch") -> onnx.ModelProto:
    """Dense layers of the given sizes with ReLU between them; input `x`, output `y`."""
    weights, nodes, initializers, last = np.random.default_rng(SEED), [], [], "x"
    for i, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        initializers += [_drawn(weights, (rows, columns), f"w{i}"), _drawn(weights, (columns,), f"b{i}")]
        final = i == len(sizes) - 2
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], ["y" if final else f"h{i}"]))
        if not final:
            nodes.append(helper.make_node("Relu", [f"h{i}"], [f"a{i}"]))
            last = f"a{i}"
    return _model(nodes, initializers, (batch, sizes[0]), (batch, sizes[-1]))


def convnet(size: int, channels: Sequence[int], batch: int | str = "batch") -> onnx.ModelProto:
    """3x3 convolutions over a `size` x `size` image, each halving it, then a dense layer with ten outputs."""
    weights, nodes, initializers, last = np.random.default_rng(SEED), [], [], "x"
    for i, (before, after) in enumerate(zip((3, *channels), channels, strict=False)):
        initializers.append(_drawn(weights, (after, before, 3, 3), f"k{i}"))
        nodes.append(
            helper.make_node("Conv", [last, f"k{i}"], [f"c{i}"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        )
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"a{i}"]))
        last = f"a{i}"
    initializers += [_drawn(weights, (channels[-1], 10), "w"), _drawn(weights, (10,), "b")]
    nodes += [
        helper.make_node("GlobalAveragePool", [last], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["y"]),
    ]
    return _model(nodes, initializers, (batch, 3, size, size), (batch, 10))


def make(variant: str, batch: int | str = "batch") -> onnx.ModelProto:
    """The model of a variant: `tiny` or `small`."""
    return VARIANTS[variant](batch)


def _drawn(weights: np.random.Generator, shape: tuple[int, ...], name: str) -> onnx.TensorProto:
    """A seeded array whose scale keeps activations near one."""
    inputs = shape[0] if len(shape) <= 2 else int(np.prod(shape[1:]))
    return numpy_helper.from_array((weights.standard_normal(shape) * np.sqrt(2 / inputs)).astype(np.float32), name)


def _model(
    nodes: list[onnx.NodeProto],
    initializers: list[onnx.TensorProto],
    shape: tuple[int | str, ...],
    result: tuple[int | str, ...],
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "benchwright-example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


VARIANTS = {
    "tiny": lambda batch: perceptron((256, 256, 256, 256, 256, 10), batch),
    "small": lambda batch: convnet(224, (32, 64, 128, 256), batch),
}


def main() -> None:
    """Reads the command line, writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variant", choices=sorted(VARIANTS))
    parser.add_argument("path")
    parser.add_argument("--batch", type=int, help="fix the leading dimension instead of leaving it dynamic")
    arguments = parser.parse_args()
    onnx.save(make(arguments.variant, arguments.batch or "batch"), arguments.path)


if __name__ == "__main__":
    main()
