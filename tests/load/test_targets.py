"""How a target is written, and the name it gets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skilltrial.errors import UsageError
from skilltrial.load.targets import BACKENDS, name_of, parse_target
from skilltrial.records.config import TargetConfig


@pytest.mark.parametrize(
    ("text", "backend", "value"),
    [
        ("claude-code", "claude-code", None),
        ("claude", "claude-code", None),
        ("claude:haiku", "claude-code", "haiku"),
        ("openai:meta/llama:free", "openai", "meta/llama:free"),
        ("local:/m.gguf", "local", "/m.gguf"),
        (r"adapter:C:\x.exe", "adapter", r"C:\x.exe"),
        ("gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("deepseek/x:free", "openai", "deepseek/x:free"),
        ("llama3.2:1b", "openai", "llama3.2:1b"),
    ],
)
def test_the_first_colon_splits_and_the_value_stays_as_written(text: str, backend: str, value: str | None) -> None:
    target = parse_target(text).target
    assert (target.backend, target.model) == (backend, value)


@pytest.mark.parametrize("text", ["", "   ", "openai:", "claude-code:"])
def test_nothing_to_run_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text)


def test_a_model_without_a_backend_is_said() -> None:
    assert parse_target("gpt-4o-mini").note == "'gpt-4o-mini' is no backend, so 'gpt-4o-mini' is taken as openai:gpt-4o-mini"
    assert parse_target("openai:gpt-4o-mini").note is None
    assert parse_target("claude").note is None


def test_a_misspelt_backend_is_pointed_out() -> None:
    assert "'claude-code'" in (parse_target("claud-code:haiku").note or "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("claude-code", "claude-code"),
        ("openai:meta/llama:free", "openai-meta-llama-free"),
        ("local:/home/someone/models/tiny.gguf", "local-tiny"),
        (r"adapter:C:\Users\someone\x.exe", "adapter-x"),
        ("runner:mine.sh", "runner-mine"),
        ("adapter:../bin/agent.py", "adapter-agent"),
    ],
)
def test_a_name_is_path_safe_and_tells_no_folder(text: str, name: str) -> None:
    assert name_of(parse_target(text).target) == name


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 101])
def test_a_name_by_hand_must_be_path_safe(name: str) -> None:
    with pytest.raises(ValidationError):
        TargetConfig(backend="fake", name=name)


@given(st.sampled_from(BACKENDS), st.text())
def test_any_value_gets_a_safe_name(backend: str, value: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name_of(TargetConfig(backend=backend, model=value)))
