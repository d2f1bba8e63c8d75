"""Files that the site delivers: gzipped here, under a name with a hash of their content.

Many hosts compress nothing, and a name that changes with the content may be kept by
a browser for ever.
"""

import gzip
from pathlib import Path
from typing import Any

from tiny_gpt.checkpoint import sha256

HASH_LENGTH = 12


class ExportError(RuntimeError):
    """The export can not go on; the message says what is missing or wrong."""


# --8<-- [start:ship]
def ship(data: bytes, folder: Path, kind: str, name: str) -> dict[str, Any]:
    """Write `data` gzipped to `folder/kind/name-HASH.bin`; returns file, sizes and sha256."""
    packed = gzip.compress(data, 9, mtime=0)
    digest = sha256(packed)
    file = f"{kind}/{name}-{digest[:HASH_LENGTH]}.bin"
    (folder / file).write_bytes(packed)
    return {"file": file, "bytes": len(packed), "raw_bytes": len(data), "sha256": digest}


# --8<-- [end:ship]
