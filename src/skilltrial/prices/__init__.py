"""Tokens to US dollars, by the prices in the settings or by a dated table of public list prices.

A table is a file `<provider>-<date>.json`: where the prices were published, and US dollars per million tokens. They are
list prices of that day; what a bill says may differ. A model that no table names has no price, and unknown stays None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from skilltrial.records.evidence import Usage

MILLION = 1_000_000


class Cost(NamedTuple):
    """An amount and where its prices come from."""

    usd: float
    source: str
    """`pricing-config`, or `price-table` with the table's name."""


class Rates(NamedTuple):
    """US dollars per token."""

    prompt: float
    completion: float
    cache_read: float
    cache_write: float
    source: str


def price(model: str | None, usage: Usage, pricing: Mapping[str, float] | None = None, written: int = 0) -> Cost | None:
    """What `usage` cost: by `pricing` (US dollars per token) when given, else by the table that names `model`.

    None when a count or a price is unknown. `input_tokens` hold everything that was read: `cached_tokens` of them are
    charged as cache reads, `written` as cache writes.
    """
    rates = _given(pricing) if pricing else rates_of(model)
    if rates is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = usage.cached_tokens or 0
    plain = max(0, usage.input_tokens - cached - written)
    usd = plain * rates.prompt + cached * rates.cache_read + written * rates.cache_write + usage.output_tokens * rates.completion
    return Cost(usd, rates.source)


def rates_of(model: str | None) -> Rates | None:
    """Prices of a model by its exact name, or by the name without its date: `gpt-4o-mini-2024-07-18` is `gpt-4o-mini`."""
    if not model:
        return None
    known = _tables()
    return known.get(model) or known.get(_undated(model))


def table_names() -> tuple[str, ...]:
    """The tables there are, by provider and date."""
    return tuple(
        sorted(entry.name.removesuffix(".json") for entry in files(__package__).iterdir() if entry.name.endswith(".json"))
    )


def _given(pricing: Mapping[str, float]) -> Rates | None:
    prompt, completion = pricing.get("prompt"), pricing.get("completion")
    if prompt is None or completion is None:
        return None
    read, write = pricing.get("input_cache_read", prompt), pricing.get("input_cache_write", prompt)
    return Rates(prompt, completion, read, write, "pricing-config")


@cache
def _tables() -> dict[str, Rates]:
    """All tables in one, the newest date winning."""
    found: dict[str, Rates] = {}
    for name in sorted(table_names(), key=lambda name: name.partition("-")[2]):
        table = json.loads((files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
        for model, row in table["models"].items():
            rates = (row["input"], row["output"], row.get("cache_read", row["input"]), row.get("cache_write", row["input"]))
            found[model] = Rates._make([*(usd / MILLION for usd in rates), f"price-table {name}"])
    return found


def _undated(model: str) -> str:
    """`name-2024-07-18` and `name-20241022` without the date."""
    parts = model.split("-")
    if len(parts) > 3 and all(part.isdigit() for part in parts[-3:]) and [len(part) for part in parts[-3:]] == [4, 2, 2]:
        return "-".join(parts[:-3])
    if len(parts) > 1 and parts[-1].isdigit() and len(parts[-1]) == 8:
        return "-".join(parts[:-1])
    return model
