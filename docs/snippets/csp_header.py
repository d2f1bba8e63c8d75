"""Print a Content-Security-Policy for a built site: `python docs/snippets/csp_header.py site`.

The theme has a few inline scripts. Each is allowed by its hash, so no other one can run.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path


def inline_script_hashes(site: Path) -> list[str]:
    """The CSP source of every inline script in the pages of `site`, each once."""
    scripts: set[str] = set()
    for page in site.rglob("*.html"):
        scripts.update(re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), re.DOTALL))
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    return sorted(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


def policy(site: Path) -> str:
    """The value of the header."""
    scripts = ["script-src 'self' 'wasm-unsafe-eval'", *inline_script_hashes(site)]
    return "; ".join(["default-src 'self'", " ".join(scripts), "img-src 'self' data:"])


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    if not (folder / "index.html").is_file():
        sys.exit(f"error: {folder} is no built site; run make build, then name its folder")
    print(f"Content-Security-Policy: {policy(folder)}")
