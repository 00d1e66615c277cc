"""URLs taken apart, whatever they are."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def parts_of(url: str) -> SplitResult:
    """The parts of a URL; for one whose host or port cannot be, as `http://[::` and `http://x:99999`, there is no host."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # it is looked at only when it is asked for
    except ValueError:
        return SplitResult("", "", url, "", "")
    return parts
