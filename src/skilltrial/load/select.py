"""Which cases are run: filters by id, tag and side effects, where an empty choice is an error and never zero cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skilltrial.errors import UsageError
from skilltrial.records.config import Config
from skilltrial.records.suite import Case, Suite


def select(suites: Sequence[Suite], config: Config, names: dict[str, str]) -> tuple[Suite, ...]:
    """The suites with the cases that every filter leaves; a suite left without a case is dropped.

    Args:
        names: skill id -> skill name; `skill::case` may use either.
    Raises:
        UsageError: an id names no case, or no case is left.
    """
    suites = [_tagged(suite, config, names) for suite in suites]
    _refuse_unknown(config.eval_ids, suites, names)
    kept = []
    for suite in suites:
        cases = tuple(case for case in suite.cases if _wanted(case, suite, config, names))
        if cases:
            kept.append(suite if len(cases) == len(suite.cases) else suite.model_copy(update={"cases": cases}))
    if suites and not kept:
        raise UsageError(f"the filters leave none of {sum(len(suite.cases) for suite in suites)} cases", _filters(config))
    return tuple(kept)


def names_case(wanted: str, case: Case, skill_id: str, skill_name: str) -> bool:
    """Whether `case` or `skill::case` names this case."""
    skill, mark, case_id = wanted.rpartition("::")
    return case.id == case_id if not mark else case.id == case_id and skill in (skill_id, skill_name)


def _wanted(case: Case, suite: Suite, config: Config, names: dict[str, str]) -> bool:
    if config.eval_ids and not any(
        names_case(wanted, case, suite.skill, names.get(suite.skill, "")) for wanted in config.eval_ids
    ):
        return False
    if config.with_tags and not set(config.with_tags) & set(case.tags):
        return False
    level = case.side_effects.level if case.side_effects else "local-only"
    return not config.side_effect_levels or level in config.side_effect_levels


def _refuse_unknown(wanted: Iterable[str], suites: Sequence[Suite], names: dict[str, str]) -> None:
    for one in wanted:
        if not any(names_case(one, case, suite.skill, names.get(suite.skill, "")) for suite in suites for case in suite.cases):
            several = len({suite.skill for suite in suites}) > 1
            known = [
                f"{names.get(suite.skill, suite.skill)}::{case.id}" if several else case.id
                for suite in suites
                for case in suite.cases
            ]
            more = f" and {len(known) - 30} more" if len(known) > 30 else ""
            raise UsageError(f"no case has the id '{one}'", f"there are: {', '.join(known[:30])}{more}" if known else None)


def _tagged(suite: Suite, config: Config, names: dict[str, str]) -> Suite:
    """The suite with tags that the configuration gives to its cases."""
    if not config.tags:
        return suite
    cases = []
    for case in suite.cases:
        added = [
            tag
            for tag, cases_of in config.tags.items()
            if tag not in case.tags and any(names_case(one, case, suite.skill, names.get(suite.skill, "")) for one in cases_of)
        ]
        cases.append(case.model_copy(update={"tags": (*case.tags, *added)}) if added else case)
    return suite.model_copy(update={"cases": tuple(cases)})


def _filters(config: Config) -> str:
    given = {"eval ids": config.eval_ids, "tags": config.with_tags, "side-effect levels": config.side_effect_levels}
    return "filters: " + "; ".join(f"{name}: {', '.join(values)}" for name, values in given.items() if values)
