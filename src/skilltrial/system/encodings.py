"""Every form in which a known secret may appear in a text."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus


def forms(secret: str) -> frozenset[str]:
    """Raw, URL-quoted, JSON-escaped once and twice, HTML-escaped, hex, and the base64 core at all three alignments."""
    escaped = json.dumps(secret)[1:-1]
    found = {
        secret,
        escaped,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(escaped)[1:-1],
        escaped.replace("/", "\\/"),
        html.escape(secret),
        html.escape(secret, quote=False),
        html.escape(secret).replace("&#x27;", "&#39;"),
    }
    raw = secret.encode("utf-8", "surrogatepass")
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        found |= {quoted, _lower_escapes(quoted)}
    found |= {raw.hex(), raw.hex().upper()}
    for core in base64_cores(raw):
        found |= {core, core.replace("+", "-").replace("/", "_"), core.replace("+", "%2B").replace("/", "%2F")}
    return frozenset(found)


def base64_cores(raw: bytes) -> tuple[str, ...]:
    """The characters of base64 that depend on `raw` alone, for each of the three places it can start at."""
    cores = []
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).decode("ascii")
        start = (before * 8 + 5) // 6
        cores.append(text[start : (before + len(raw)) * 8 // 6])
    return tuple(core for core in cores if len(core) >= 6)


def _lower_escapes(quoted: str) -> str:
    pieces = quoted.split("%")
    return "%".join([pieces[0], *(piece[:2].lower() + piece[2:] for piece in pieces[1:])])
