"""What tokens cost, and when that is not known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import skilltrial.prices
from skilltrial.prices import Cost, price, rates_of, table_names
from skilltrial.records.evidence import Usage

USED = Usage(input_tokens=1_000_000, cached_tokens=200_000, output_tokens=100_000)


def test_a_known_model_has_its_list_price_and_names_the_table() -> None:
    cost = price("gpt-4o-mini", USED)
    assert cost is not None
    assert cost.usd == pytest.approx(0.8 * 0.15 + 0.2 * 0.075 + 0.1 * 0.60)
    assert re.fullmatch(r"price-table openai-\d{4}-\d{2}", cost.source)


def test_what_was_written_to_a_cache_has_its_own_price() -> None:
    cost = price("claude-haiku-4-5", USED, written=100_000)
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
    assert price(model, usage, pricing) is None


@pytest.mark.parametrize(
    ("dated", "name"),
    [("gpt-4o-mini-2024-07-18", "gpt-4o-mini"), ("claude-haiku-4-5-20251001", "claude-haiku-4-5"), ("gpt-4.1", "gpt-4.1")],
)
def test_a_dated_model_has_the_price_of_its_name(dated: str, name: str) -> None:
    assert rates_of(dated) == rates_of(name) is not None


def test_a_model_is_never_priced_by_a_name_that_only_begins_alike() -> None:
    assert rates_of("gpt-4o-mini-audio") is None
    assert rates_of("gpt-5-turbo") is None


def test_every_table_says_when_and_where_its_prices_were_published() -> None:
    for name in table_names():
        table = json.loads((Path(skilltrial.prices.__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
        assert name.endswith(table["as_of"]) and table["source"].startswith("https://")
        for model, row in table["models"].items():
            assert row.keys() <= {"input", "output", "cache_read", "cache_write"}, model
            assert 0 < row["input"] <= row["output"] and row["cache_read"] <= row["input"], model
