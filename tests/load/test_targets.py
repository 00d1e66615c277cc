"""How a target is written, and the name it gets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.errors import UsageError
from skilltrial.load.targets import BACKENDS, name_of, names_of, note_about, parse_target, parse_targets
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
    target = parse_target(text)
    assert (target.backend, target.model) == (backend, value)


@pytest.mark.parametrize("text", ["", "   ", "openai:", "claude-code:"])
def test_nothing_to_run_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text)


def test_a_model_without_a_backend_is_said_once() -> None:
    spoken = parse_targets(["gpt-4o-mini", "gpt-4o-mini", "fake"])
    assert [target.backend for target in spoken.targets] == ["openai", "openai", "fake"]
    assert spoken.notes == ("'gpt-4o-mini' is no backend, so 'gpt-4o-mini' is taken as openai:gpt-4o-mini",)


def test_a_misspelt_backend_is_pointed_out() -> None:
    assert "'claude-code'" in (note_about("claud-code:haiku") or "")
    assert note_about("claude") is None


def test_only_the_list_option_splits_at_commas() -> None:
    assert [t.backend for t in parse_targets(["claude, codex,gemini"], comma=True).targets] == ["claude-code", "codex", "gemini"]
    assert parse_targets(["openai:a,b"]).targets[0].model == "a,b"


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
    assert name_of(parse_target(text)) == name


def test_names_are_unique_whatever_the_case() -> None:
    targets = [parse_target(text) for text in ("openai:m", "openai:m", "openai:M")] + [
        TargetConfig(backend="fake", name="openai-m-2")
    ]
    assert names_of(targets) == ("openai-m", "openai-m-3", "openai-M-4", "openai-m-2")


def test_two_equal_names_by_hand_are_an_error() -> None:
    with pytest.raises(UsageError, match="same name"):
        names_of([TargetConfig(backend="fake", name="a"), TargetConfig(backend="openai", name="A")])


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 101])
def test_a_name_by_hand_must_be_path_safe(name: str) -> None:
    with pytest.raises(UsageError, match="not safe"):
        name_of(TargetConfig(backend="fake", name=name))


@given(st.lists(st.tuples(st.sampled_from(BACKENDS), st.text(min_size=1)), max_size=6))
def test_any_values_get_distinct_safe_names(pairs: list[tuple[str, str]]) -> None:
    names = names_of([TargetConfig(backend=backend, model=value) for backend, value in pairs])
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name) for name in names)
    assert len({name.casefold() for name in names}) == len(names)
