"""Who made a model, by its name or by the program that chooses it: a judge may favour answers of its own kind."""

from __future__ import annotations

import re

from skilltrial.records.evidence import IMPORTED
from skilltrial.records.plan import Target

_BY_NAME = {
    "anthropic": r"claude|haiku|sonnet|opus|anthropic",
    "openai": r"gpt|chatgpt|codex|o[1-9]\b|davinci|openai",
    "google": r"gemini|gemma|palm|google",
    "qwen": r"qwen|qwq",
    "meta": r"llama|meta",
    "mistral": r"mi[sx]tral|codestral|devstral|magistral",
    "deepseek": r"deepseek",
    "xai": r"grok|xai",
    "moonshot": r"kimi|moonshot",
    "zhipu": r"glm|zhipu",
}
_NAMES = {family: re.compile(rf"(?:^|[/:._-])(?:{names})", re.IGNORECASE) for family, names in _BY_NAME.items()}
_BY_BACKEND = {
    "claude-code": "anthropic", "anthropic": "anthropic", "codex": "openai", "gemini": "google", "agy": "google", "qwen": "qwen",
}  # fmt: skip


def family(target: Target) -> str | None:
    """The maker: by the model's own name first, which stands last in `provider/model`, else by the program; None: unknown."""
    model = target.value or str(target.options.get("model") or "")
    for part in reversed(model.split("/")):
        for name, pattern in _NAMES.items():
            if pattern.search(part):
                return name
    backend = target.options.get("backend") if target.backend == IMPORTED else target.backend
    return _BY_BACKEND.get(str(backend))


def same(one: Target, other: Target) -> bool:
    """The same program and model."""
    return (one.backend, one.value) == (other.backend, other.value)


def akin(one: Target, other: Target) -> bool:
    """The same model, or one of the same maker."""
    known = family(one)
    return same(one, other) or (known is not None and known == family(other))
