"""Masks secrets in everything that is stored or shown.

Layer one: the exact values of every secret handed out, in all encodings. Layer two: named shapes (`secret_shapes`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from skilltrial.system import secret_shapes as shapes
from skilltrial.system.encodings import base64_cores, forms
from skilltrial.system.secret_shapes import MASK, SHORTEST_TOKEN, Span

SHORTEST_SECRET = 6
"""Characters; a shorter value would mask half of every text."""
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.%-"
_CLASSES = bytes(ord("a") if code in _TOKEN_CHARACTERS else ord(" ") for code in range(256))
_RUN = b"a" * SHORTEST_TOKEN
_NO_SECRETS = frozenset({"ollama", "lm-studio", "not-needed", "no-key-needed", "dummy-key", "sk-no-key-required", "placeholder"})
"""What people set where a local server wants some key; masking it would tear ordinary words out of every text."""
_WIDE = ("utf-16-le", "utf-16-be")
_WRAP_FROM = 28
"""Base64 of this length and more may be broken into lines."""

_APART = "\n\n"
"""Between texts that are looked at together: no shape reaches across an empty line and loses what either side holds."""

Known = tuple[str, re.Pattern[str]]
"""One form of a known secret: an anchor that is cheap to look for, and the exact pattern."""
Mask = Callable[[str], tuple[str, int]]
"""A text with its secrets masked, and how many places that were."""


class Redactor:
    """Replaces secrets by `[redacted]`, the key word kept, and counts them. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: set[str] = set()
        self._long: tuple[Known, ...] = ()
        """Forms whose anchor lies within an unbroken run of at least SHORTEST_TOKEN token characters."""
        self._short: tuple[Known, ...] = ()
        self._wide: tuple[tuple[bytes, bytes], ...] = ()
        self._longest = 0

    def learn(self, secret: str) -> None:
        """Masks this value from now on, in every encoding. Values shorter than SHORTEST_SECRET are ignored."""
        pieces = [secret, secret.strip()]
        if "\n" in secret.strip():
            pieces += [line.strip() for line in secret.splitlines() if len(line.strip()) >= SHORTEST_TOKEN]
        for piece in pieces:
            self._learn(piece)

    def _learn(self, secret: str) -> None:
        if len(secret) < SHORTEST_SECRET or secret.lower() in _NO_SECRETS:
            return
        with self._lock:
            if secret in self._secrets:
                return
            cores = base64_cores(secret.encode("utf-8", "surrogatepass"))
            wrapped = [known for core in cores if len(core) >= _WRAP_FROM for known in _wrapped(core)]
            plain = [(form, _longest_run(form)) for form in sorted(forms(secret))]
            self._secrets.add(secret)
            self._long += (*wrapped, *((run, re.compile(re.escape(form))) for form, run in plain if len(run) == SHORTEST_TOKEN))
            self._short += tuple((form, re.compile(re.escape(form))) for form, run in plain if len(run) < SHORTEST_TOKEN)
            self._wide = (*self._wide, *((secret.encode(name, "surrogatepass"), MASK.encode(name)) for name in _WIDE))
            self._longest = max(self._longest, *(len(form) + len(form) // 30 * 2 for form in forms(secret)))

    def text(self, text: str) -> tuple[str, int]:
        """The text with every secret masked, and how many places that were."""
        spans = self._spans(text)
        return (_masked(text, spans), len(spans)) if spans else (text, 0)

    def data(self, data: bytes) -> tuple[bytes, int]:
        """The same for bytes in any encoding that keeps ASCII; known values are found in UTF-16 too. Other bytes stay as they are."""
        text, count = self.text(data.decode("utf-8", "surrogateescape"))
        clean = text.encode("utf-8", "surrogateescape") if count else data
        clean, wide = self._without_wide(clean)
        return clean, count + wide

    def _without_wide(self, data: bytes) -> tuple[bytes, int]:
        count = 0
        if self._wide and b"\0" in data:
            for wide, mask in self._wide:
                count += data.count(wide)
                data = data.replace(wide, mask)
        return data, count

    def exact(self, data: bytes) -> tuple[bytes, int]:
        """Only the known values, masked anywhere in bytes that are no text."""
        text = data.decode("utf-8", "surrogateescape")
        spans = list(_merge(self._known_spans(text)))
        clean = _masked(text, spans).encode("utf-8", "surrogateescape") if spans else data
        clean, wide = self._without_wide(clean)
        return clean, len(spans) + wide

    def clean(self, texts: Iterable[str]) -> bool:
        """True when none of the texts holds a secret: one look over all is a tenth of the work of a look at each."""
        return not self._spans(_APART.join(texts))

    def value(self, value: Any) -> tuple[Any, int]:
        """A JSON value with its texts masked, and whole values under sensitive keys."""
        return self._value(value, None, _as_it_is if self.clean(_texts(value)) else self.text)

    def texts(self, pieces: Iterable[str]) -> tuple[list[str], int]:
        """Pieces of one text, as a stream delivers it: known values are found across their borders too."""
        pieces = list(pieces)
        count = 0
        spans = list(_merge(self._known_spans("".join(pieces))))
        if spans:
            pieces = _mask_pieces(pieces, spans)
            count = len(spans)
        masked = [self.text(piece) for piece in pieces]
        return [piece for piece, _ in masked], count + sum(found for _, found in masked)

    def stream(self) -> Stream:
        """A filter for bytes that arrive in chunks."""
        return Stream(self)

    def _value(self, value: Any, name: str | None, mask: Mask) -> tuple[Any, int]:
        if isinstance(value, str):
            if name is not None and value and not shapes.harmless(value, name):
                return MASK, 1
            return mask(value)
        if isinstance(value, dict):
            return self._mapping(value, name, mask)
        if isinstance(value, list | tuple):
            walked = [self._value(item, name, mask) for item in value]
            count = sum(found for _, found in walked)
            return ([item for item, _ in walked] if count else value), count
        if name is not None and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 1000:
            return MASK, 1
        return value, 0

    def _mapping(self, value: dict[Any, Any], name: str | None, mask: Mask) -> tuple[dict[Any, Any], int]:
        masked: dict[Any, Any] = {}
        count = 0
        for key, item in value.items():
            inherited = name if name is not None and str(key).lower() in {"value", "raw", "data", "plain", "default"} else None
            clean, found = self._value(item, str(key) if shapes.sensitive(str(key)) else inherited, mask)
            clean_key, in_key = mask(key) if isinstance(key, str) else (key, 0)
            masked[clean_key] = clean
            count += found + in_key
        return (masked if count else value), count

    def _spans(self, text: str) -> list[Span]:
        """Everything to mask, in order, without overlaps. The cheap looks come first: clean text costs one pass of each."""
        plain = text.encode("ascii", "replace")
        low = plain.lower()
        classes = plain.translate(_CLASSES)
        runs = _runs(classes)
        tokens = "\n".join([text[start:end] for start, end in runs])
        found = self._known_spans(text, tokens)
        if runs:
            found += shapes.provider_keys(text, runs, tokens)
        if b":" in plain or b"=" in plain or b"--" in plain or b">" in plain:
            found += shapes.assignments(text, low)
        if b"bearer" in low:
            found += shapes.bearer_tokens(text)
        if b"@" in plain and b"://" in plain:
            found += shapes.url_passwords(text)
        if b"PRIVATE KEY" in plain:
            found += shapes.private_keys(text)
        return list(_merge(found)) if found else []

    def _known_spans(self, text: str, tokens: str | None = None) -> list[Span]:
        """Where known values stand. `tokens`: the unbroken runs of `text`; long forms are looked for in them only."""
        found: list[Span] = []
        long = text if tokens is None else tokens
        for anchor, known in self._long if long else ():
            if anchor in long:
                found += [match.span() for match in known.finditer(text)]
        for anchor, known in self._short:
            if anchor in text:
                found += [match.span() for match in known.finditer(text)]
        return found


class Stream:
    """Masks chunks as they come; what may still grow into a secret is held back, so borders between chunks hide nothing."""

    _PATIENCE = 65_536
    """Bytes held back at most while a line or a private key has no end."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        self.count = 0

    def feed(self, chunk: bytes) -> bytes:
        """What is safe to pass on by now."""
        self._held += chunk
        text = self._held.decode("utf-8", "surrogateescape")
        reserve = self._redactor._longest + 4
        if len(text) <= reserve:
            return b""
        spans = self._redactor._spans(text)
        cut = self._cut(text, spans, reserve)
        if cut <= 0:
            return b""
        done = [span for span in spans if span[1] <= cut]
        self.count += len(done)
        self._held = text[cut:].encode("utf-8", "surrogateescape")
        return _masked(text[:cut], done).encode("utf-8", "surrogateescape")

    def close(self) -> bytes:
        """The rest."""
        rest, count = self._redactor.data(self._held)
        self._held = b""
        self.count += count
        return rest

    def _cut(self, text: str, spans: list[Span], reserve: int) -> int:
        """After the last line that no secret can reach beyond; 0: nothing is safe yet."""
        last = len(text) - reserve
        open_key = text.rfind("-----BEGIN ")
        if len(text) < self._PATIENCE:
            if open_key >= 0 and "-----END " not in text[open_key:]:
                last = min(last, open_key)
            cut = text.rfind("\n", 0, last + 1) + 1
        else:
            cut = max(text.rfind("\n", 0, last + 1) + 1, last - 4096)
        for start, end in reversed(spans):
            if start < cut < end or (start < cut and end > len(text) - reserve):
                cut = max(text.rfind("\n", 0, start) + 1, start - 4096)  # its key word stays with it
        return cut


def _texts(value: Any) -> Iterator[str]:
    """All texts of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _as_it_is(text: str) -> tuple[str, int]:
    return text, 0


def _runs(classes: bytes) -> list[Span]:
    """Where at least SHORTEST_TOKEN token characters stand together."""
    runs = []
    start = classes.find(_RUN)
    while start >= 0:
        end = classes.find(b" ", start)
        end = len(classes) if end < 0 else end
        runs.append((start, end))
        start = classes.find(_RUN, end)
    return runs


def _longest_run(form: str) -> str:
    """The beginning of its longest run of token characters, at most SHORTEST_TOKEN of them."""
    return max(re.findall(r"[A-Za-z0-9_+/=.%-]+", form), key=len, default="")[:SHORTEST_TOKEN]


def _wrapped(core: str) -> tuple[Known, ...]:
    """Base64 broken into lines somewhere; no line break of the usual widths hits both anchors."""
    pattern = re.compile(r"(?:\\r|\\n|\s){0,4}".join(re.escape(character) for character in core))
    return (core[2:8], pattern), (core[22:28], pattern)


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    start, end = -1, -1
    for first, last in sorted(spans):
        if first < end:
            end = max(end, last)
            continue
        if end > start:
            yield start, end
        start, end = first, last
    if end > start:
        yield start, end


def _masked(text: str, spans: list[Span]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def _mask_pieces(pieces: list[str], spans: list[Span]) -> list[str]:
    """Masks spans of the joined text; a span over several pieces leaves its mask in the first."""
    masked, offset = [], 0
    for piece in pieces:
        end = offset + len(piece)
        inside = [(max(a, offset) - offset, min(b, end) - offset, a >= offset) for a, b in spans if a < end and b > offset]
        parts, at = [], 0
        for first, last, begins in inside:
            parts += [piece[at:first], MASK if begins else ""]
            at = last
        masked.append("".join([*parts, piece[at:]]))
        offset = end
    return masked
