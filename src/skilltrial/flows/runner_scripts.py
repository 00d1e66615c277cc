"""Where the script of a `runner` target lies: in `runners/` here, else next to the suite that needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from skilltrial.backends.runner import Runner
from skilltrial.records.config import Config, TargetConfig
from skilltrial.records.suite import Suite


def found(config: Config, suites: Sequence[Suite], cwd: Path) -> Config:
    """The configuration with places beside the suites to look in, for scripts that are named and not in the usual places."""
    if not any(target.backend == "runner" for target in config.targets):
        return config
    beside = tuple(dict.fromkeys(str(folder) for suite in suites for folder in _beside(suite, cwd)))
    return config.model_copy(update={"targets": tuple(_searching(target, beside) for target in config.targets)})


def _beside(suite: Suite, cwd: Path) -> Iterator[Path]:
    """Of skills/notes/evals/evals.json: evals/runners, evals, and the skill's own runners."""
    folder = Path(cwd, suite.where.file).parent
    yield folder / "runners"
    yield folder
    if folder.name == "evals":
        yield folder.parent / "runners"


def _searching(target: TargetConfig, beside: tuple[str, ...]) -> TargetConfig:
    if target.backend != "runner" or not target.model or "search" in target.options:
        return target
    usual = Runner(script=target.model)
    wider = Runner(script=target.model, search=(*usual.search, *beside))
    if usual.file() is not None or wider.file() is None:
        return target  # where it is nowhere, the probe says so and names the usual places
    return target.model_copy(update={"options": {**target.options, "search": list(wider.search)}})
