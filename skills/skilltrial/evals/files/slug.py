"""Names for web addresses."""

import re


def slug(title: str) -> str:
    """Lower case, words joined by hyphens, at most 40 characters."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
