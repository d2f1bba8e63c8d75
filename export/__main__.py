"""`python -m export`: make the site's models, manifest, golden cases and facts."""

from collections.abc import Sequence

from export.build import GENERATED, ROOT, build
from export.shipping import ExportError
from export.site_files import read_manifest, shipped_entries
from tiny_gpt.command import CommandError, CommandParser, run_command


def main(argv: Sequence[str] | None = None) -> int:
    """Export what changed and print the files with their sizes."""
    parser = CommandParser("export", "Export what changed and print the files with their sizes.")
    parser.add_argument("--force", action="store_true", help="make everything again")
    options = parser.parse_args(argv)
    try:
        made = build(options.force)
    except ExportError as error:
        raise CommandError(str(error)) from None
    print(f"{GENERATED.relative_to(ROOT)}: {'made' if made else 'up to date'}")
    manifest = read_manifest()
    print(f"{'file':<40} {'gzip bytes':>11} {'bytes':>11}  largest difference from PyTorch")
    for entry in shipped_entries(manifest):
        gap = f"{entry['largest_difference']:.1e}" if "largest_difference" in entry else ""
        print(f"{entry['file']:<40} {entry['bytes']:>11,} {entry['raw_bytes']:>11,}  {gap}")
    return 0


if __name__ == "__main__":
    run_command(main)
