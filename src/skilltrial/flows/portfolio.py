"""Every skill below some folders with its newest results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from skilltrial.flows.history import history
from skilltrial.load import listing
from skilltrial.plan.names import safe_ids
from skilltrial.records.history import Entry, Portfolio, PortfolioRow
from skilltrial.system.redaction import Redactor

_DAY_S = 86_400.0


def portfolio(roots: tuple[str, ...], cwd: Path, workspace: Path, redactor: Redactor, now: datetime | None = None) -> Portfolio:
    """One row per skill and target it was last run on, and one for each skill that never was; in order of folder.

    Results of skills that are not below the roots are left out. `now`: what ages are counted from, default the present.

    Raises:
        UsageError: a root does not exist, or holds no skill.
    """
    newest = _newest(history([workspace], redactor).entries if workspace.is_dir() else ())
    rows = [row for row in listing.rows(roots, cwd) if row.skill is not None]
    safe = safe_ids(dict.fromkeys(row.skill or "" for row in rows))
    made: list[PortfolioRow] = []
    for skill, own in groupby(rows, key=lambda row: row.skill or ""):
        suites = list(own)
        known = [row.cases for row in suites if row.suite is not None]
        plain = PortfolioRow(
            skill=skill,
            folder=suites[0].folder,
            suites=len(known),
            cases=sum(number or 0 for number in known) if known and None not in known else None,
        )
        made += _rows(plain, newest.get(safe[skill], ()), now or datetime.now(UTC))
    return Portfolio(rows=tuple(made))


def _newest(entries: Sequence[Entry]) -> Mapping[str, Sequence[Entry]]:
    """By skill, the newest entry of each target: a lift before a bare rate, natural cases before forced ones."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries, key=_rank):
        found[entry.skill, entry.target] = entry
    by_skill: dict[str, list[Entry]] = {}
    for (skill, _), entry in found.items():
        by_skill.setdefault(skill, []).append(entry)
    return by_skill


def _rank(entry: Entry) -> tuple[str, bool, bool]:
    return entry.created_at, entry.baseline is not None, entry.activation == "natural"


def _rows(plain: PortfolioRow, entries: Sequence[Entry], now: datetime) -> Iterator[PortfolioRow]:
    for entry in entries:
        yield plain.model_copy(update={"last": entry, "age_days": _age(entry.created_at, now)})
    if not entries:
        yield plain


def _age(created_at: str, now: datetime) -> float | None:
    try:
        made = datetime.fromisoformat(created_at)
    except ValueError:
        return None
    return (now - (made if made.tzinfo else made.replace(tzinfo=UTC))).total_seconds() / _DAY_S
