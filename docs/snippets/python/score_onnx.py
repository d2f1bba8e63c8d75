"""Score a prefix without PyTorch: python score_onnx.py FILE.onnx"""

import sys

import numpy as np
import onnxruntime

BOS_ID = 1
SHIFT = ord(" ") - 3  # the characters from space to ~ are tokens 3 to 97

session = onnxruntime.InferenceSession(sys.argv[1])
ids = [BOS_ID, *(ord(character) - SHIFT for character in "12+34=")]
(logits,) = session.run(["logits"], {"ids": np.array([ids], dtype=np.int64)})
last = logits[0, -1]  # 98 numbers
for token_id in np.argsort(-last)[:3]:
    print(chr(token_id + SHIFT), f"logit {last[token_id]:.4f}")
