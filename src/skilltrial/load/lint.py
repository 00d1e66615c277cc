"""What makes a suite worthless although it is valid: prompts that give the rules away, checks that nothing or anything passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from skilltrial.load.document import shown
from skilltrial.records.problems import Problem, Where
from skilltrial.records.suite import Case, Check, Skill, Suite, landed, landing

SHARED_WORDS = 8
"""So many words in a row in both the prompt and the skill give its rules to the baseline."""
ALIKE = 0.92
"""Share of equal words from which two prompts are one task."""
_SEARCH_S = 0.2
_OUTPUTS = ("", "lorem ipsum 417", "Yes.")
"""Answers that have done no task."""
_WORD = re.compile(r"\w+")
_ABOUT_INPUT = re.compile(
    r"\s*the (?:user'?s? |given |original |provided )?(?:prompt|task|request|user|input(?: file)?|fixture|skill)s? "
    r"(?:asks?|mentions?|contains?|includes?|says?|is|are|has|names?|provides?|specif(?:y|ies))\b",
    re.IGNORECASE,
)
_CANNOT_FAIL = re.compile(
    r"\b(?:an?|some|the) (?:answer|output|response|reply|result|file)\b.{0,20}\b(?:is|was) (?:given|provided|returned|produced|present|not empty|non-empty)\W*$"
    r"|^(?:it|the \w+) (?:attempts|tries|aims|seeks) to\b|^(?:it|the \w+) (?:may|might|could|can) (?!not\b)"
    r"|\b(?:if|where|when|as) (?:needed|necessary|appropriate|applicable|possible|relevant|required)\b",
    re.IGNORECASE,
)
Read = Callable[[Case, str], str | None]
"""Text of a fixture as delivered, by case and landed path; None: it is no fixture, or no text."""


def lint(skill: Skill, suite: Suite, read: Read) -> Iterator[Problem]:
    """Every weakness of the suite, each at its case. None is sure enough to be more than a warning."""
    rules = _words(skill.body)
    for case in suite.cases:
        if phrase := shared_phrase(_words(case.prompt), rules):
            yield _problem(
                case,
                "prompt-gives-rules",
                f"the prompt shares {SHARED_WORDS} or more words in a row with SKILL.md: '{shown(phrase)}'",
                "say what a user wants who does not know the skill; else the baseline gets the rules too",
            )
        yield from _checks(case, read)
    yield from _same_prompts(suite.cases)


def shared_phrase(words: Sequence[str], others: Sequence[str], length: int = SHARED_WORDS) -> str | None:
    """The first `length` words in a row that both have."""
    known = {tuple(others[at : at + length]) for at in range(len(others) - length + 1)}
    found = (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    return next((" ".join(phrase) for phrase in found if phrase in known), None)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _problem(case: Case, rule: str, found: str, hint: str, at: str = "") -> Problem:
    where = Where(file=case.where.file, line=case.where.line, column=case.where.column, pointer=f"{case.where.pointer or ''}{at}")
    return Problem(where=where, severity="warning", rule=rule, found=f"case '{shown(case.id)}': {found}", hint=hint)


# ---------------------------------------------------------------- checks
def _checks(case: Case, read: Read) -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], Check] = {}
    for check in case.checks:
        label = f"'{shown(check.text)}'"
        key = (check.type, " ".join(_words(check.text)), repr(sorted(check.options.items())))
        if seen.setdefault(key, check) is not check:
            yield _problem(case, "same-assertion", f"{label} is asked twice", "keep one of the two")
        elif why := _true_already(case, check, read):
            yield _problem(case, "true-already", f"{label} {why}", "ask for something that only the work can bring about")
        elif _names_nothing(case, check):
            yield _problem(
                case,
                "no-such-fixture",
                f"{label} names no file of this case",
                "list the file under 'files'; only with --source-repo it may come from there",
            )
        elif _cannot_fail(check):
            yield _problem(case, "cannot-fail", f"no output can fail {label}", "name what a wrong or missing result would lack")


def _true_already(case: Case, check: Check, read: Read) -> str | None:
    if check.type == "rubric":
        return "speaks of the task or its files, not of what was done" if _ABOUT_INPUT.match(check.text) else None
    path = check.options.get("path")
    if isinstance(path, str):
        text = read(case, path)
        holds = None if text is None or check.type in ("file_not_contains", "not_regex") else _holds(check, text)
        return f"is true of {shown(path)} before anything is done" if holds else None
    quoted = check.type in ("contains", "contains_all", "contains_any") or (check.type == "regex" and _echo_passes(case))
    return "is true of the prompt itself, so an echo of the task passes it" if quoted and _holds(check, case.prompt) else None


def _echo_passes(case: Case) -> bool:
    """One check about form may well be true of the prompt; all of them together may not."""
    required = [check for check in case.checks if check.required]
    return all(check.options.get("path") is None and _holds(check, case.prompt) for check in required)


def _names_nothing(case: Case, check: Check) -> bool:
    """A check that a file is unchanged, by a plain path at which none of the case's files lies."""
    path = check.options.get("path")
    if check.type != "file_unchanged" or not isinstance(path, str) or check.options.get("anywhere") or {*"*?"} & set(path):
        return False
    plain = path.removeprefix("./").rstrip("/")
    places = {landing(file.path, stage) for file in case.fixtures.files for stage in (case.stage, "inputs")}
    return not any(place == plain or place.startswith(f"{plain}/") for place in places)


def _cannot_fail(check: Check) -> bool:
    if check.type == "rubric":
        return bool(_CANNOT_FAIL.search(check.text))
    if check.options.get("path") is not None or check.options.get("files"):
        return False
    if check.type in ("contains", "contains_all", "contains_any", "regex"):
        return all(_holds(check, output) for output in _OUTPUTS)
    return check.type == "not_regex" and re.sub(r"\s", "", str(check.options.get("pattern"))) in ("(?!)", "$^", "[^\\s\\S]")


def _holds(check: Check, text: str) -> bool | None:
    """Whether a check about text holds of this text; None: it is of another kind."""
    options = check.options
    fold: Callable[[Any], str] = (
        (lambda value: str(value)) if options.get("case_sensitive") else (lambda value: str(value).casefold())
    )
    if check.type in ("contains", "file_contains"):
        return fold(options.get("value", options.get("contains"))) in fold(text)
    values: Any = options.get("values")
    if check.type in ("contains_all", "contains_any") and isinstance(values, list | tuple):
        return (all if check.type == "contains_all" else any)(fold(value) in fold(text) for value in values)
    return _matches(check, text) if check.type == "regex" else None


def _matches(check: Check, text: str) -> bool | None:
    import regex

    letters = str(check.options.get("flags", "")) + ("" if check.options.get("case_sensitive") else "i")
    known = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}
    flags = 0
    for letter in letters:
        flags |= known.get(letter, 0)
    try:
        return bool(regex.search(str(check.options.get("pattern")), text, flags=flags, timeout=_SEARCH_S))
    except (regex.error, TimeoutError, RecursionError):
        return None


# ---------------------------------------------------------------- prompts
def _same_prompts(cases: Sequence[Case]) -> Iterator[Problem]:
    words = [_words(case.prompt) for case in cases]
    for at, case in enumerate(cases):
        twin = next(
            (before for before in range(at) if _alike(words[before], words[at]) and _same_files(cases[before], case)), None
        )
        if twin is not None:
            yield _problem(
                case,
                "same-prompt",
                f"the prompt is all but that of case '{shown(cases[twin].id)}'",
                "cases that ask the same are no independent evidence; change one, or give both the same 'cluster'",
            )


def _alike(one: list[str], other: list[str]) -> bool:
    if one == other:
        return True
    if not one or not other or not 0.8 < len(one) / len(other) < 1.25:
        return False
    match = SequenceMatcher(None, one, other, autojunk=False)
    return min(len(one), len(other)) >= SHARED_WORDS and match.quick_ratio() >= ALIKE and match.ratio() >= ALIKE


def _same_files(one: Case, other: Case) -> bool:
    return {*landed(one.fixtures, one.stage)} == {*landed(other.fixtures, other.stage)} and one.cluster is None
