"""Proof, made before a suite, that a target's baseline sees no skill and its other arm sees exactly the one given."""

from __future__ import annotations

from skilltrial.records.record import Record


class Certificate(Record):
    """What became of one canary: a skill with a random word, run once with and once without."""

    target: str
    key: str
    """Digest of the target's settings, its program's version and the sandbox level: what a certificate holds for."""
    clean: bool | None
    """True: the word was known with the canary and unknown without. None: the program gave no answer that tells."""
    reason: str
    made_at: str
    """UTC, ISO 8601."""
    cost_usd: float | None = None
    cached: bool = False
    """Taken from an earlier experiment of this workspace."""
