"""TensorFlow and Keras: `.keras`, `.h5`, SavedModels, and what makes a model."""

from functools import partial

from benchwright.compat.neuronperf import benchmarking

benchmark = partial(benchmarking.benchmark, runtime="tensorflow")
evaluate = partial(benchmarking.evaluate, runtime="tensorflow")
