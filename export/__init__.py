"""Checkpoints to what the site publishes: ONNX files, manifest, golden cases, facts."""
