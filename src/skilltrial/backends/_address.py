"""Addresses of models, in the forms that programs want them in."""

from __future__ import annotations

from skilltrial.system.addresses import parts_of


def rooted(url: str, ending: str = "/v1") -> str:
    """The URL for programs that want the API's version in it: an address without a path gets it."""
    plain = url.rstrip("/")
    return plain if parts_of(plain).path else plain + ending


def bare(url: str, *endings: str) -> str:
    """The URL for programs that add the API's version themselves."""
    plain = url.rstrip("/")
    for ending in endings:
        plain = plain.removesuffix(ending)
    return plain


def address_of(url: str) -> str:
    """`host:port` that an URL leads to."""
    parts = parts_of(url)
    return f"{parts.hostname or url}:{parts.port or (80 if parts.scheme == 'http' else 443)}"


def shown_host(url: str | None) -> str:
    """Host and path of an URL, without a password in it."""
    parts = parts_of(url or "")
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}" or str(url)
