"""Tokens to US dollars, by the prices in the settings or by a dated table of public list prices.

A table is a file `<market>-<date>.json`: where the prices were published, and US dollars per million tokens. A market is
a provider at its own endpoint (`openai`, `anthropic`, `google`), or `openrouter`, which names models by their maker first.
They are list prices of that day; what a bill says may differ. A model that no table names has no price, unknown stays None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from skilltrial.records.evidence import Usage

MILLION = 1_000_000
OPENROUTER = "openrouter"
_MAKERS = (
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini-", "google"),
)
"""Whose a model is by the beginning of its bare name, as OpenRouter calls the maker."""


class Cost(NamedTuple):
    """An amount and where its prices come from."""

    usd: float
    source: str
    """`pricing-config`, `openrouter-pricing`, or `price-table` with the table's name."""


class Rates(NamedTuple):
    """US dollars per token."""

    prompt: float
    completion: float
    cache_read: float
    cache_write: float
    source: str


def price(model: str | None, usage: Usage, pricing: Mapping[str, float] | None = None, market: str | None = None) -> Cost | None:
    """What `usage` cost: by `pricing` (US dollars per token) when given, else by the tables of `market`.

    None when the tokens read, those written or a price are unknown. `input_tokens` hold everything that was read: `cached_tokens` of them are
    charged as cache reads, `cache_write_tokens` as cache writes, the rest in full, and so is everything
    where nobody tells of a cache: then the cost is a ceiling. Reasoning is part of the output.
    """
    rates = _given(pricing) if pricing else rates_of(model, market)
    if rates is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    plain = max(0, usage.input_tokens - cached - written)
    usd = plain * rates.prompt + cached * rates.cache_read + written * rates.cache_write + usage.output_tokens * rates.completion
    return Cost(usd, rates.source)


def rates_of(model: str | None, market: str | None) -> Rates | None:
    """Prices of a model in a market by its exact name, or by the name without its date: `gpt-4o-mini-2024-07-18` is `gpt-4o-mini`."""
    if not model or not market:
        return None
    known = _tables().get(market, {})
    bare = model.removeprefix(f"{market}/")
    names = (bare, _undated(bare)) if market != OPENROUTER else _slugs(bare)
    return next((known[name] for name in names if name in known), None)


def market_of(model: str | None) -> str | None:
    """The market that a model's name begins with, as programs write it that call many: `openrouter/openai/gpt-5`; None: none of ours."""
    head, slash, _ = (model or "").partition("/")
    return head if slash and head in _tables() else None


def table_names() -> tuple[str, ...]:
    """The tables there are, by market and date."""
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
def _tables() -> dict[str, dict[str, Rates]]:
    """Models by market; of several tables of a market the newest that names a model holds."""
    found: dict[str, dict[str, Rates]] = {}
    for name in sorted(table_names(), key=lambda name: name.partition("-")[2]):
        market = name.partition("-")[0]
        source = "openrouter-pricing" if market == OPENROUTER else f"price-table {name}"
        table = json.loads((files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
        for model, row in table["models"].items():
            rates = (row["input"], row["output"], row.get("cache_read", row["input"]), row.get("cache_write", row["input"]))
            found.setdefault(market, {})[model] = Rates._make([*(usd / MILLION for usd in rates), source])
    return found


def _slugs(model: str) -> tuple[str, ...]:
    """What OpenRouter may call a model: its maker first, its version with a point: `anthropic/claude-sonnet-4.5`."""
    if "/" not in model:
        maker = next((maker for start, maker in _MAKERS if model.startswith(start)), None)
        model = f"{maker}/{model}" if maker else model
    undated = _undated(model)
    return (model, undated, re.sub(r"(?<=-)(\d+)-(\d+)(?=-|:|$)", r"\1.\2", undated))


def _undated(model: str) -> str:
    """`name-2024-07-18` and `name-20241022` without the date."""
    parts = model.split("-")
    if len(parts) > 3 and all(part.isdigit() for part in parts[-3:]) and [len(part) for part in parts[-3:]] == [4, 2, 2]:
        return "-".join(parts[:-3])
    if len(parts) > 1 and parts[-1].isdigit() and len(parts[-1]) == 8:
        return "-".join(parts[:-1])
    return model
