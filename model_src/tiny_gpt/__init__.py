"""An arithmetic GPT of 413,440 parameters: model, data, training, answers, tests."""

import os

# Waiting OpenMP threads sleep instead of spinning; must be set before torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
