"""Checkpoints to what the site publishes: ONNX files, manifest, golden cases, facts."""

import tiny_gpt  # noqa: F401  (sets OpenMP's wait policy, so it comes before torch)
