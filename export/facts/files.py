"""Facts about the files that a reader's device downloads."""

MEGABYTE = 1_000_000


def size_facts(runtime_bytes: int, weights_bytes: int) -> dict[str, str]:
    """Megabytes that the first use of a widget downloads."""
    return {
        "site.runtime_mb": megabytes(runtime_bytes),
        "site.weights_mb": megabytes(weights_bytes),
        "site.first_use_mb": megabytes(runtime_bytes + weights_bytes),
    }


def megabytes(count: int) -> str:
    """Bytes as MB (10**6) with two digits after the point."""
    return f"{count / MEGABYTE:.2f}"
