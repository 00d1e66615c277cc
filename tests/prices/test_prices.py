"""What tokens cost, and when that is not known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import skilltrial.prices
from skilltrial.prices import Cost, market_of, price, rates_of, table_names
from skilltrial.records.evidence import Usage

USED = Usage(input_tokens=1_000_000, cached_tokens=200_000, output_tokens=100_000)


def test_a_known_model_has_its_list_price_and_names_the_table() -> None:
    cost = price("gpt-4o-mini", USED, market="openai")
    assert cost is not None
    assert cost.usd == pytest.approx(0.8 * 0.15 + 0.2 * 0.075 + 0.1 * 0.60)
    assert re.fullmatch(r"price-table openai-\d{4}-\d{2}", cost.source)


def test_what_was_written_to_a_cache_has_its_own_price() -> None:
    cost = price("claude-haiku-4-5", USED.model_copy(update={"cache_write_tokens": 100_000}), market="anthropic")
    assert cost is not None
    assert cost.usd == pytest.approx(0.7 * 1.0 + 0.2 * 0.10 + 0.1 * 1.25 + 0.1 * 5.0)


def test_prices_in_the_settings_come_first() -> None:
    assert price("gpt-4o-mini", USED, {"prompt": 1e-6, "completion": 2e-6}) == Cost(pytest.approx(1.2), "pricing-config")
    assert price("anything", USED, {"prompt": 1e-6, "completion": 0.0, "input_cache_read": 0.0}) == Cost(
        pytest.approx(0.8), "pricing-config"
    )


@pytest.mark.parametrize(
    ("model", "usage", "pricing"),
    [
        (None, USED, None),
        ("a-model-nobody-knows", USED, None),
        ("gpt-4o-mini", Usage(input_tokens=5), None),
        ("gpt-4o-mini", Usage(output_tokens=5), None),
        ("gpt-4o-mini", USED, {"prompt": 1e-6}),
    ],
)
def test_what_is_unknown_stays_unknown(model: str | None, usage: Usage, pricing: dict[str, float] | None) -> None:
    assert price(model, usage, pricing, "openai") is None


@pytest.mark.parametrize(
    ("market", "dated", "name"),
    [
        ("openai", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("anthropic", "anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("openai", "gpt-4.1", "gpt-4.1"),
        ("openrouter", "openrouter/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4.5"),
        ("openrouter", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5"),
        ("openrouter", "claude-3-5-haiku-20241022", "anthropic/claude-3.5-haiku"),
        ("openrouter", "anthropic/claude-opus-4-1", "anthropic/claude-opus-4.1"),
        ("openrouter", "gpt-5-codex", "openai/gpt-5-codex"),
        ("openrouter", "gemini-2.5-pro", "google/gemini-2.5-pro"),
    ],
)
def test_a_model_is_found_by_the_names_it_goes_by(market: str, dated: str, name: str) -> None:
    assert rates_of(dated, market) == rates_of(name, market) is not None


def test_a_model_is_never_priced_by_a_name_that_only_begins_alike() -> None:
    assert rates_of("gpt-4o-mini-audio", "openai") is None
    assert rates_of("gpt-5-turbo", "openai") is None
    assert rates_of("anthropic/claude-sonnet-4.5:nitro", "openrouter") is None
    assert rates_of("claude-haiku-4-5", "openai") is None
    assert rates_of("gpt-4o-mini", None) is None


def test_reasoning_is_charged_as_output_and_cached_input_at_its_own_price() -> None:
    """By hand, gpt-5: 20,000 in of which 12,000 cached, 3,000 out of which 2,000 thought."""
    used = Usage(input_tokens=20_000, cached_tokens=12_000, output_tokens=3_000, reasoning_tokens=2_000)
    cost = price("gpt-5", used, market="openai")
    assert cost is not None and cost.usd == pytest.approx(0.010 + 0.0015 + 0.030)
    no_discount = price("openai/gpt-5-pro", used, market="openrouter")
    assert no_discount is not None and no_discount.usd == pytest.approx(20_000 * 15e-6 + 3_000 * 120e-6)


def test_the_market_is_the_beginning_of_a_name_that_has_one_of_ours() -> None:
    assert market_of("openrouter/anthropic/claude-sonnet-4.5") == "openrouter"
    assert market_of("anthropic/claude-sonnet-4-5") == "anthropic"
    assert [market_of(name) for name in ("gpt-5", "github-copilot/gpt-5", "openrouter", None)] == [None] * 4


def test_every_table_says_when_and_where_its_prices_were_published() -> None:
    for name in table_names():
        table = json.loads((Path(skilltrial.prices.__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
        assert name == f"{table['provider'].lower()}-{table['as_of']}" and table["source"].startswith("https://")
        for model, row in table["models"].items():
            assert row.keys() <= {"input", "output", "cache_read", "cache_write"}, model
            assert row.get("cache_read", 0) <= row["input"] <= row["output"], model
            assert (row["input"] == 0) == model.endswith(":free"), model
