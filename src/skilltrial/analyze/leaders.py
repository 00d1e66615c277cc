"""What else than its name tells a leaderboard row apart from the first, so that a rank is not read as one cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skilltrial.records.plan import Target
from skilltrial.records.summary import LeaderRow

_PERMISSIONS = ("allowed_tools", "permission_mode", "approval_mode")


def noted(rows: Sequence[LeaderRow], targets: Sequence[Target], models: Mapping[str, set[str]]) -> tuple[LeaderRow, ...]:
    """The rows, each with a note where two or more of program, model and permissions are not those of the first row.

    `models`: names of the models that answered, by target. Where neither that nor the plan tells a model, two programs are
    taken to have chosen their own.
    """
    by_name = {target.name: target for target in targets}
    first = by_name.get(rows[0].target) if rows else None
    if first is None:
        return tuple(rows)
    return tuple(row.model_copy(update={"note": _note(first, by_name.get(row.target, first), models)}) for row in rows)


def _note(first: Target, other: Target, models: Mapping[str, set[str]]) -> str:
    differ = [
        word
        for word, is_other in (
            ("program", first.backend != other.backend),
            ("model", _model(first, models) != _model(other, models)),
            ("permissions", _permissions(first) != _permissions(other)),
        )
        if is_other
    ]
    if len(differ) < 2:
        return ""
    return f"{', '.join(differ[:-1])} and {differ[-1]} differ"


def _model(target: Target, models: Mapping[str, set[str]]) -> str:
    answered = models.get(target.name)
    if answered:
        return ", ".join(sorted(answered))
    return target.value or str(target.options.get("model") or f"chosen by {target.backend}")


def _permissions(target: Target) -> tuple[str, ...]:
    return (target.sandbox, target.network, *(str(target.options.get(name)) for name in _PERMISSIONS))
