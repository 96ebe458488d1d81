"""A TensorFlow benchmark as those of large model repositories are written; it knows nothing of Benchwright.

`benchwright run examples/models_benchmark.py::ClassifierBenchmark.benchmark_2_layers`

The class takes PerfZero's keywords, joins paths on the data folder, defines and parses its own flags, leaves warm-up
steps out of its own timing, logs every few steps, and reports a bound of None where there is none.
"""

import itertools
import os
import time

import tensorflow as tf
from absl import flags, logging

FLAGS = flags.FLAGS
CLASSES = 10
FEATURES = 64


def define_flags() -> None:
    """The flags of the training script, once in each process."""
    if "train_steps" in FLAGS:
        return
    flags.DEFINE_string("data_dir", "", "Where the examples are; drawn at random when there are none.")
    flags.DEFINE_string("model_dir", "", "Where the trained weights go.")
    flags.DEFINE_integer("batch_size", 64, "Examples per step.")
    flags.DEFINE_integer("train_steps", 60, "Steps in all.")
    flags.DEFINE_integer("log_steps", 20, "Steps between two lines of the log.")
    flags.DEFINE_integer("layers", 1, "Hidden layers.")


class StepTimer:
    """The instants at which every `log_steps` steps were done."""

    def __init__(self, batch_size: int, log_steps: int) -> None:
        self.batch_size, self.log_steps = batch_size, log_steps
        self.stamps: list[tuple[int, float]] = []

    def step_ended(self, step: int) -> None:
        if step % self.log_steps == 0:
            self.stamps.append((step, time.perf_counter()))
            logging.info("step %d", step)

    def examples_per_second(self) -> float:
        """Between the first and the last stamp: what comes before the first is warm-up."""
        (first, begin), (last, end) = self.stamps[0], self.stamps[-1]
        return self.batch_size * (last - first) / (end - begin)


class BenchmarkBase(tf.test.Benchmark):
    """What every benchmark of such a repository shares."""

    def __init__(self, output_dir=None, default_flags=None, root_data_dir=None, tpu=None, **kwargs) -> None:
        super().__init__()
        self.output_dir = os.getenv("BENCHMARK_OUTPUT_DIR") or output_dir or "/tmp"
        self.data_dir = os.path.join(root_data_dir, "digits")  # fails when it is None
        self.default_flags = default_flags or {}
        self.tpu = tpu

    def _setup(self) -> None:
        logging.set_verbosity(logging.INFO)
        define_flags()
        FLAGS.unparse_flags()
        FLAGS(["models_benchmark"])
        for name, value in self.default_flags.items():
            setattr(FLAGS, name, value)
        FLAGS.data_dir = self.data_dir
        FLAGS.model_dir = os.path.join(self.output_dir, self.__class__.__name__)


class ClassifierBenchmark(BenchmarkBase):
    """A small classifier on digits."""

    def __init__(self, output_dir=None, root_data_dir=None, **kwargs) -> None:
        super().__init__(output_dir, {"batch_size": 32}, root_data_dir, **kwargs)

    def benchmark_1_layer(self) -> None:
        """One hidden layer."""
        self._setup()
        self._run_and_report(top_1_min=0.5, top_1_max=1.0)

    def benchmark_2_layers(self) -> None:
        """Two hidden layers, whose accuracy has no bound."""
        self._setup()
        FLAGS.layers = 2
        self._run_and_report()

    def _run_and_report(self, top_1_min=None, top_1_max=None) -> None:
        begin = time.time()
        stats = run(FLAGS)
        wall_time = time.time() - begin
        metrics = [
            {"name": "accuracy_top_1", "value": stats["accuracy"], "min_value": top_1_min, "max_value": top_1_max},
            {"name": "exp_per_second", "value": stats["examples_per_second"]},
        ]
        self.report_benchmark(
            iters=FLAGS.train_steps, wall_time=wall_time, extras={"flags": FLAGS.flags_into_string()}, metrics=metrics
        )


def run(settings) -> dict[str, float]:
    """Trains on examples that can be told apart, and says how fast and how well."""
    draw = tf.random.Generator.from_seed(0)
    centres = draw.normal((CLASSES, FEATURES))
    sizes = [FEATURES] + [64] * settings.layers + [CLASSES]
    weights = [tf.Variable(draw.normal((a, b)) * (2 / a) ** 0.5) for a, b in itertools.pairwise(sizes)]

    def batch() -> tuple[tf.Tensor, tf.Tensor]:
        labels = draw.uniform((settings.batch_size,), 0, CLASSES, tf.int32)
        return tf.gather(centres, labels) + 0.5 * draw.normal((settings.batch_size, FEATURES)), labels

    def logits(x: tf.Tensor) -> tf.Tensor:
        for each in weights[:-1]:
            x = tf.nn.relu(x @ each)
        return x @ weights[-1]

    @tf.function
    def step() -> None:
        x, labels = batch()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits(x)))
        for each, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            each.assign_sub(0.1 * gradient)

    timer = StepTimer(settings.batch_size, settings.log_steps)
    for number in range(1, settings.train_steps + 1):
        step()
        timer.step_ended(number)
    x, labels = batch()
    accuracy = tf.reduce_mean(tf.cast(tf.argmax(logits(x), axis=1, output_type=tf.int32) == labels, tf.float32))
    return {"accuracy": float(accuracy), "examples_per_second": timer.examples_per_second()}
