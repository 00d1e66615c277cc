"""Controlled trials of Agent Skills: the verdict you can defend.

`skilltrial.evaluate` runs a trial from Python; the command line is `skilltrial`. Importing this prints nothing,
reads no environment variable and loads nothing heavy: names are fetched when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skilltrial.version import VERSION

if TYPE_CHECKING:
    from skilltrial.api import (
        console_reporter,
        evaluate,
        grade,
        jsonl_reporter,
        load_config,
        read,
        report,
    )
    from skilltrial.records.config import TargetConfig

__version__ = VERSION

__all__ = [
    "TargetConfig",
    "__version__",
    "console_reporter",
    "evaluate",
    "grade",
    "jsonl_reporter",
    "load_config",
    "read",
    "report",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from skilltrial import api

        return getattr(api, name)
    raise AttributeError(f"module 'skilltrial' has no attribute '{name}'")
