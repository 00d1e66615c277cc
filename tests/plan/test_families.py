"""A judge of the targets' own maker plays at home."""

from __future__ import annotations

import pytest

from skilltrial.plan.families import akin, family
from skilltrial.plan.notes import judge_notes
from skilltrial.records.plan import Judge, Target


def target(text: str) -> Target:
    backend, _, value = text.partition(":")
    return Target(name=text.replace(":", "-").replace("/", "-"), backend=backend, value=value or None)


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("claude-code", "anthropic"), ("claude-code:haiku", "anthropic"), ("openai:anthropic/claude-sonnet-4", "anthropic"),
        ("openai:gpt-5-mini", "openai"), ("codex", "openai"), ("openai:o3-mini", "openai"), ("opencode:openai/gpt-5", "openai"),
        ("gemini", "google"), ("agy", "google"), ("openai:google/gemma-3", "google"),
        ("openai:deepseek-r1-distill-llama-70b", "meta"), ("openai:qwen3:8b", "qwen"), ("openai:meta-llama/qwen-mix", "qwen"),
        ("openai:my-own", None), ("fake:x", None), ("runner:echo", None), ("local", None),
    ],
)  # fmt: skip
def test_a_maker_is_told_by_the_models_name_else_by_the_program(text: str, maker: str | None) -> None:
    assert family(target(text)) == maker


def test_unknown_makers_are_akin_only_when_program_and_model_are_equal() -> None:
    assert not akin(target("fake:a"), target("fake:b"))
    assert akin(target("fake:a"), target("fake:a"))
    assert akin(target("openai:gpt-5"), target("codex"))


def test_the_note_names_the_kin_and_the_judge_itself() -> None:
    judge = Judge(target=target("claude-code:haiku"), home_field=True)
    (kin,) = judge_notes(judge, [target("anthropic:claude-opus-4"), target("codex")])
    assert "same maker (anthropic)" in kin and "anthropic-claude-opus-4" in kin and "codex" not in kin
    (own,) = judge_notes(judge, [target("claude-code:haiku")])
    assert "also under test" in own
    assert not list(judge_notes(judge.model_copy(update={"home_field": False}), [target("claude-code")]))
