"""Money: what a run cost and who says so, and the limits per case that are looked at after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial.backends.claude_code import ClaudeCode
from skilltrial.backends.openai import OpenAI
from skilltrial.flows.bench import backend_of
from skilltrial.flows.budgets import priced
from skilltrial.records.evidence import AgentRun, Timing, Usage
from skilltrial.records.guards import exceeded
from skilltrial.records.plan import Target

from .conftest import script
from .stored import iteration, journal

PRICES = {"prompt": 1e-6, "completion": 2e-6, "input_cache_read": 1e-7}
SPENT = {"input_tokens": 1000, "cached_tokens": 400, "output_tokens": 50, "reasoning_tokens": 10, "cost_usd": 0.02}


@pytest.fixture
def play(skilltrial: Any, new_skill: Any, tmp_path: Path) -> Callable[..., Any]:
    """`play("--max-cost-per-case", 0.01)` runs a scripted trial: two cases that pass, the skill's arm at twice the cost."""
    checks = [{"id": "blue", "type": "contains", "value": "BLUE"}]
    skill = new_skill([{"id": n, "prompt": f"Sky {n}?", "checks": checks} for n in (1, 2)])

    def run(*options: object, usage: dict[str, Any] | None = None, **rule: Any) -> Any:
        dear = {"text": "BLUE", "usage": SPENT if usage is None else usage, **rule}
        cheap = {"when": {"arm": "without_skill"}, "text": "BLUE", "usage": {"input_tokens": 1, "output_tokens": 1}}
        rules = script(tmp_path / "s.json", cheap, dear)
        return skilltrial("run", skill, "--target", f"fake:{rules}", "--format", "json", *options)

    return run


def over(tmp_path: Path) -> list[tuple[str, str, str]]:
    rows = [grade for line in journal(iteration(tmp_path), "grades") for grade in line["grades"]]
    return [(row["check"], row["state"], row["reason"]) for row in rows if row["method"] == "budget"]


@pytest.mark.parametrize(
    ("option", "limit", "name"),
    [
        ("input-tokens", 999, "input_tokens"),
        ("non-cached-input-tokens", 599, "non_cached_input_tokens"),
        ("output-tokens", 49, "output_tokens"),
        ("reasoning-tokens", 9, "reasoning_tokens"),
        ("total-tokens", 1049, "total_tokens"),
        ("cost", 0.0199, "cost_usd"),
    ],
)
def test_a_limit_found_exceeded_adds_a_failed_row_and_the_cell_stays_measured(
    play: Any, tmp_path: Path, option: str, limit: float, name: str
) -> None:
    said = play(f"--max-{option}-per-case", limit)
    assert [row[:2] for row in over(tmp_path)] == [(f"budget:{name}", "failed")] * 2
    assert said.summary["coverage"]["graded"] == 4
    by_arm = {rate["arm"]: rate["pass_rate"] for rate in said.summary["rates"]}
    assert by_arm == {"with_skill": 0.5, "without_skill": 1.0}
    assert said.summary["budget"]["exceeded"] == [f"colours/{n}/fake-s/with_skill/1" for n in (1, 2)]


def test_what_is_equal_to_a_limit_is_within_it(play: Any, tmp_path: Path) -> None:
    assert play("--max-input-tokens-per-case", 1000, "--max-cost-per-case", 0.02).summary["budget"]["exceeded"] == []
    assert over(tmp_path) == []


def test_unknown_values_never_trip_a_limit() -> None:
    limits = dict.fromkeys(
        ("input_tokens", "non_cached_input_tokens", "output_tokens", "reasoning_tokens", "total_tokens", "cost_usd", "duration_s",
         "tool_calls"), 0.0
    )  # fmt: skip
    assert exceeded(limits, Usage(), None, None) == ()
    assert [one.name for one in exceeded(limits, Usage(input_tokens=5, output_tokens=None), None, None)] == ["input_tokens"]
    assert [one.name for one in exceeded({"tool_calls": 2, "duration_s": 1.0}, Usage(), 1.0, 3)] == ["tool_calls"]


def test_tool_calls_have_a_limit_too(play: Any, tmp_path: Path) -> None:
    calls = [{"kind": "tool_call", "name": "Bash", "arguments": {"command": "ls"}}] * 3
    play("--max-tool-calls-per-case", 2, events=calls)
    assert over(tmp_path)[0] == ("budget:tool_calls", "failed", "the run took 3 tool calls, limit 2")


def test_warn_lists_the_runs_and_adds_no_row(play: Any, tmp_path: Path) -> None:
    said = play("--max-cost-per-case", 0.01, "--budget-action", "warn")
    assert over(tmp_path) == []
    assert len(said.summary["budget"]["exceeded"]) == 2
    assert "budget exceeded" in said.err


def test_stop_suite_begins_no_further_case_and_says_why_in_full(play: Any, tmp_path: Path) -> None:
    """Known fault 16: what stands in brackets is not eaten by the terminal."""
    said = play("--max-cost-per-case", 0.01, "--budget-action", "stop-suite", "-c", 1)
    ran = journal(iteration(tmp_path), "evidence")
    assert len(ran) < 4
    assert "budget: colours/" in said.summary["stopped"]
    assert {row["state"] for row in said.summary["skipped"]} == {"not_run"}
    assert "took 0.02 US dollars, limit 0.01" in said.err
    assert said.summary["budget"]["action"] == "stop-suite"


def test_stop_suite_leaves_the_other_skills_alone(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    checks = [{"id": "blue", "type": "contains", "value": "BLUE"}]
    cases = [{"id": n, "prompt": f"Sky {n}?", "checks": checks} for n in (1, 2, 3)]
    for name in ("dear", "cheap"):
        new_skill(cases, name=name)
    rules = script(tmp_path / "s.json", {"when": {"skill": "dear"}, "text": "BLUE", "usage": SPENT}, {"text": "BLUE"})
    skilltrial(
        "run", "./dear", "./cheap", "--target", f"fake:{rules}", "--max-cost-per-case", 0.01, "--budget-action",
        "stop-suite", "-c", 1,
    )  # fmt: skip
    by_skill = [row["cell"].split("/")[0] for row in journal(iteration(tmp_path), "evidence")]
    assert by_skill.count("cheap") == 6
    assert by_skill.count("dear") == 1


def test_a_regrading_keeps_the_budget_rows(play: Any, skilltrial: Any) -> None:
    """Known fault 3: the lift changed without a new run."""
    first = play("--max-cost-per-case", 0.01).summary
    again = skilltrial("grade", "--format", "json").summary
    assert again["lifts"] == first["lifts"]
    assert again["budget"] == first["budget"]


# ---------------------------------------------------------------- who says what it cost
def run_of(usage: Usage, model: str | None = None) -> AgentRun:
    return AgentRun(outcome="ok", usage=usage, model=model, timing=Timing(started_at="", duration_s=1.0))


def cost(target: Target, usage: Usage, model: str | None = None) -> tuple[float | None, str | None]:
    found = priced(run_of(usage, model), target, backend_of(target)).usage
    return found.cost_usd, found.cost_source


TOKENS = Usage(input_tokens=1_000_000, cached_tokens=0, output_tokens=0)


def test_the_table_of_list_prices_fills_in_at_the_providers_own_endpoint_with_its_date() -> None:
    usd, source = cost(Target(name="t", backend="openai", value="gpt-4o-mini", options={}), TOKENS)
    assert usd is not None and usd > 0
    assert source is not None and source.startswith("price-table openai-20")


def test_no_list_price_is_put_on_another_endpoint_or_an_unknown_model() -> None:
    elsewhere = Target(name="t", backend="openai", value="gpt-4o-mini", options={"base_url": "http://127.0.0.1:8000/v1"})
    assert cost(elsewhere, TOKENS) == (None, None)
    assert cost(Target(name="t", backend="openai", value="some-model"), TOKENS) == (None, None)
    assert cost(Target(name="t", backend="claude-code", value="no-such"), TOKENS) == (None, None)


def test_prices_in_the_settings_win_over_a_programs_estimate_which_stays_as_a_note() -> None:
    target = Target(name="t", backend="claude-code", pricing=PRICES)
    estimate = Usage(input_tokens=1000, cached_tokens=400, output_tokens=50, cost_usd=0.5, cost_source="cli")
    run = priced(run_of(estimate), target, ClaudeCode())
    assert run.usage.cost_usd == pytest.approx(600 * 1e-6 + 400 * 1e-7 + 50 * 2e-6)
    assert run.usage.cost_source == "pricing-config"
    assert run.warnings == ("the program itself estimates 0.5 US dollars",)


def test_a_programs_estimate_is_called_so_and_unreconciled_at_another_endpoint() -> None:
    estimate = Usage(input_tokens=1, output_tokens=1, cost_usd=0.5, cost_source="cli")
    assert cost(Target(name="t", backend="claude-code"), estimate) == (0.5, "cli")
    moved = Target(name="t", backend="claude-code", options={"base_url": "https://elsewhere.example/api"})
    assert cost(moved, estimate) == (0.5, "cli-unreconciled")
    said_so = Target(name="t", backend="claude-code", options={"base_url": "https://api.anthropic.com"})
    assert cost(said_so, estimate) == (0.5, "cli")


# Sonnet 4.5 at OpenRouter, US dollars per million: 6,000 read at 3, 5,000 cached at 0.3, 1,000 written to the cache at 3.75, 2,000 out at 15
RUN = {"input_tokens": 12_000, "cached_tokens": 5_000, "cache_write_tokens": 1_000, "output_tokens": 2_000}
BY_HAND = 0.018 + 0.0015 + 0.00375 + 0.030
AT_OPENROUTER = {"base_url": "https://openrouter.ai/api"}


@pytest.mark.parametrize(
    ("backend", "value", "options", "model"),
    [
        ("claude-code", "anthropic/claude-sonnet-4.5", AT_OPENROUTER, None),
        ("claude-code", "sonnet", AT_OPENROUTER, "claude-sonnet-4-5-20250929"),
        ("opencode", "openrouter/anthropic/claude-sonnet-4.5", {}, None),
        ("pi", "openrouter/anthropic/claude-sonnet-4.5", {}, "anthropic/claude-sonnet-4.5"),
        ("openai", "anthropic/claude-sonnet-4.5", {"base_url": "https://openrouter.ai/api/v1"}, None),
    ],
)
def test_what_was_called_at_openrouter_costs_what_its_dated_prices_say(
    backend: str, value: str, options: dict[str, Any], model: str | None
) -> None:
    target = Target(name="t", backend=backend, value=value, options=options)
    assert cost(target, Usage(**RUN), model) == (pytest.approx(BY_HAND), "openrouter-pricing")


def test_a_programs_own_figure_for_a_model_of_openrouter_is_checked_against_the_table_and_stays_as_a_note() -> None:
    target = Target(name="t", backend="opencode", value="openrouter/anthropic/claude-sonnet-4.5")
    run = priced(run_of(Usage(**RUN, cost_usd=0.07, cost_source="cli")), target, backend_of(target))
    assert (run.usage.cost_usd, run.usage.cost_source) == (pytest.approx(BY_HAND), "openrouter-pricing")
    assert run.warnings == ("the program itself estimates 0.07 US dollars",)


def test_a_model_of_openrouter_that_the_table_does_not_name_stays_unreconciled_or_unknown() -> None:
    target = Target(name="t", backend="opencode", value="openrouter/nobody/no-such-model")
    assert cost(target, Usage(**RUN, cost_usd=0.07, cost_source="cli")) == (0.07, "cli-unreconciled")
    assert cost(target, Usage(**RUN)) == (None, None)
    no_counts = Target(name="t", backend="opencode", value="openrouter/anthropic/claude-sonnet-4.5")
    assert cost(no_counts, Usage(cost_usd=0.07, cost_source="cli")) == (0.07, "cli-unreconciled")


def test_list_prices_hold_for_the_provider_that_a_program_calls_and_for_no_other() -> None:
    def at(backend: str, value: str | None, model: str | None = None, **options: Any) -> tuple[float | None, str | None]:
        return cost(Target(name="t", backend=backend, value=value, options=options), Usage(**RUN), model)

    by_hand = (7_000 * 1.25 + 5_000 * 0.125 + 2_000 * 10) / 1e6
    assert at("codex", "gpt-5") == (pytest.approx(by_hand), "price-table openai-2025-09")
    assert at("gemini", None, "gemini-2.5-pro")[1] == "price-table google-2026-05"
    assert at("opencode", "anthropic/claude-sonnet-4-5") == (pytest.approx(BY_HAND), "price-table anthropic-2026-10")
    assert at("opencode", "github-copilot/gpt-5") == (None, None)
    assert at("copilot", "gpt-5") == at("qwen", "gpt-5") == (None, None), "they are billed by somebody else"
    assert at("codex", "gpt-5", base_url="http://127.0.0.1:9") == (None, None)


def test_what_a_provider_says_stands_whatever_the_prices() -> None:
    target = Target(name="t", backend="openai", value="m", pricing=PRICES)
    said = Usage(input_tokens=10, output_tokens=1, cost_usd=0.25, cost_source="provider")
    assert priced(run_of(said), target, OpenAI(model="m")).usage == said


def test_cached_and_reasoning_tokens_reach_the_summary(play: Any) -> None:
    rate = next(rate for rate in play().summary["rates"] if rate["arm"] == "with_skill")
    assert rate["tokens"] == {
        "input": 1000.0, "cached": 400.0, "non_cached_input": 600.0, "output": 50.0, "reasoning": 10.0, "total": 1050.0,
    }  # fmt: skip


def test_a_cap_that_ended_an_experiment_is_raised_on_resume(play: Any, skilltrial: Any, tmp_path: Path) -> None:
    said = play("--max-calls", 2, "-c", 1)
    assert said.summary["coverage"]["finished"] == 2
    assert "ended early: budget: 2 of 2 calls are made (max_calls); to finish it: skilltrial resume" in said.err
    again = skilltrial("resume", "--format", "json")
    assert again.summary["coverage"]["finished"] == 2, "the cap counts what was spent before"
    whole = skilltrial("resume", "--max-calls", 4, "--format", "json")
    assert whole.summary["coverage"]["finished"] == 4 and "ended early" not in whole.err
