"""make: cells, digests, what is set aside, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.plan.conftest import ADAPTER, CONTAINS, HTTP, PROGRAM, RUBRIC, Plan_, case, judge, skill, suite, target, tree

from skilltrial.errors import UsageError
from skilltrial.plan import Candidate, limits_of, named, refusal, stage_of
from skilltrial.records.plan import Plan, SetAside, Shard, cells
from skilltrial.records.suite import Limits


def digests(plan: Plan) -> dict[str, str]:
    return {group.arm: group.inputs for group in plan.groups}


def test_every_case_has_both_arms_on_every_target(planned: Plan_) -> None:
    two = (Candidate(target("a"), HTTP), Candidate(target("b", value="other"), HTTP))
    plan = planned(case("x"), case("y"), targets=two, repetitions=3).plan
    assert [(group.case, group.target, group.arm) for group in plan.groups] == [
        (name, where, arm) for name in "xy" for where in "ab" for arm in ("with_skill", "without_skill")
    ]
    assert len({cell.id for cell in cells(plan)}) == 24
    assert {cell.seed for cell in cells(plan) if cell.block == "demo/x/a/1"} == {next(cells(plan)).seed}


def test_without_a_baseline_there_is_one_arm_and_no_contrast(planned: Plan_) -> None:
    plan = planned(baseline=False).plan
    assert [arm.name for arm in plan.arms] == ["with_skill"]
    assert plan.contrasts == ()
    assert any("no baseline" in warning for warning in plan.warnings)


# ---------------------------------------------------------------- digests
@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "What is 3 + 3?"},
        {"fixtures": tree("a.csv")},
        {"params": {"temperature": 1}},
        {"forced": True},
        {"limits": Limits(max_turns=3)},
        {"tool_choice": "none"},
    ],
)
def test_what_can_change_the_run_changes_the_inputs_of_both_arms(planned: Plan_, change: dict[str, Any]) -> None:
    before, after = digests(planned(case()).plan), digests(planned(case(**change)).plan)
    assert before["with_skill"] != after["with_skill"]
    assert before["without_skill"] != after["without_skill"]


@pytest.mark.parametrize("change", [{"checks": (RUBRIC, CONTAINS)}, {"expected_output": "4"}])
def test_checks_and_expected_output_change_only_the_checks_digest(planned: Plan_, change: dict[str, Any]) -> None:
    before, after = planned(case()).plan, planned(case(**change), judge=judge()).plan
    assert digests(before) == digests(after)
    assert before.groups[0].checks != after.groups[0].checks


def test_a_changed_skill_leaves_the_baseline_as_it_was(planned: Plan_) -> None:
    before, after = digests(planned().plan), digests(planned(skills=(skill(tree=tree("new.md")),)).plan)
    assert before["with_skill"] != after["with_skill"]
    assert before["without_skill"] == after["without_skill"]


def test_a_targets_name_and_prices_are_no_input_but_its_settings_are(planned: Plan_) -> None:
    def of(**more: Any) -> dict[str, str]:
        return digests(planned(targets=(Candidate(target(**more), HTTP),)).plan)

    assert of(name="a") == of(name="b", pricing={"prompt": 1.0})
    assert (
        len(
            {
                of()["with_skill"],
                of(program_version="2")["with_skill"],
                of(params={"top_p": 1})["with_skill"],
                of(value="x")["with_skill"],
            }
        )
        == 4
    )


def test_the_sandbox_level_and_the_time_limit_are_inputs(planned: Plan_) -> None:
    bare = digests(planned().plan)
    assert bare != digests(planned(more={"levels": {"one": "bwrap"}}).plan)
    assert bare != digests(planned(timeout_s=3).plan)
    assert bare == digests(planned(timeout_s=120).plan)  # what its backend has anyway


def test_fixtures_count_as_delivered(planned: Plan_) -> None:
    listed, plain = case(fixtures=tree("evals/files/a.csv")), case(fixtures=tree("a.csv"))
    changed = plain.fixtures.model_copy(
        update={"files": tuple(file.model_copy(update={"digest": "sha256:evals/files/a.csv"}) for file in plain.fixtures.files)}
    )
    plain = plain.model_copy(update={"fixtures": changed})
    assert digests(planned(listed).plan) == digests(planned(plain).plan)
    assert digests(planned(listed, stage="keep").plan) != digests(planned(plain).plan)


def test_the_plan_is_the_same_each_time_and_its_seed_does_not_hang_on_the_name(planned: Plan_) -> None:
    one, other = planned().plan, planned(case(where={"file": "/elsewhere/evals.json"}), more={"experiment": "iteration-9"}).plan
    assert (one.digest, one.seed) == (other.digest, other.seed)
    assert planned(seed=5).plan.seed == 5
    assert named(one, "iteration-2", "2026-01-01T00:00:00Z").seed == one.seed
    assert planned(case(prompt="other")).plan.seed != one.seed


# ---------------------------------------------------------------- grading
def test_a_check_nobody_can_grade_is_set_aside_on_every_target(planned: Plan_) -> None:
    made = planned(case(checks=(CONTAINS, RUBRIC)))
    (row,) = made.plan.set_aside
    assert (row.check, row.target, row.reason) == ("k2", None, "there is no judge")
    assert made.ungradable == ()
    assert planned(case(checks=(CONTAINS, RUBRIC)), judge=judge()).plan.set_aside == ()


def test_what_loading_set_aside_is_in_the_plan_too(planned: Plan_) -> None:
    row = SetAside(check="p1", skill="demo", case="a b", reason="a sentence nobody can check")
    plan = planned(case("a b", checks=(CONTAINS, RUBRIC)), more={"set_aside": (row,)}).plan
    assert [(row.check, row.case) for row in plan.set_aside] == [
        ("p1", plan.suites[0].cases[0].id),
        ("k2", plan.suites[0].cases[0].id),
    ]


def test_a_check_can_be_set_aside_on_one_target_only(planned: Plan_) -> None:
    tool = CONTAINS.model_copy(update={"id": "t", "type": "tool_called"})
    two = (Candidate(target("http"), HTTP), Candidate(target("agent", "codex"), PROGRAM))
    made = planned(case(checks=(CONTAINS, tool)), targets=two)
    assert [(row.check, row.target) for row in made.plan.set_aside] == [("t", "http")]
    assert any("not graded alike" in warning for warning in made.plan.warnings)


def test_cases_left_without_a_check_are_all_named(planned: Plan_) -> None:
    diagnostic = CONTAINS.model_copy(update={"required": False})
    made = planned(case("a", checks=(RUBRIC,)), case("b", checks=()), case("c", checks=(diagnostic,)), case("d"))
    assert [row.case for row in made.ungradable] == ["a", "b", "c"]
    message = str(refusal(made.ungradable))
    assert "demo::a on one: there is no judge" in message
    assert "--grade-later" in message


def test_grade_later_waits_for_a_judge(planned: Plan_) -> None:
    made = planned(case(checks=(RUBRIC,)), grade_later=True)
    assert made.ungradable == ()
    assert made.plan.set_aside == ()


def test_a_judge_that_is_also_under_test_is_said(planned: Plan_) -> None:
    made = planned(judge=judge("small"))
    assert made.plan.judge is not None
    assert made.plan.judge.home_field
    assert any("under test" in warning for warning in made.plan.warnings)


# ---------------------------------------------------------------- settings
def test_defaults_of_the_gate_and_of_the_adapters_rules(planned: Plan_) -> None:
    plan = planned().plan
    assert (plan.gate.cases, plan.gate.on, plan.gate.metric) == ("majority", "interval", "checks")
    plan = planned(adapter_rules=True, gate={"minimum_lift": 0.1}, gates={"demo": {"cases": "none"}}).plan
    assert (plan.gate.cases, plan.gate.on, plan.gate.metric, plan.gate.minimum_lift) == ("every", "point", "cases", 0.1)
    assert (plan.gates["demo"].cases, plan.gates["demo"].on) == ("none", "point")


def test_only_quality_scores_make_the_metric_score(planned: Plan_) -> None:
    quality = RUBRIC.model_copy(update={"type": "quality"})
    assert planned(case(checks=(quality,)), judge=judge()).plan.gate.metric == "score"
    assert planned(case(checks=(quality, CONTAINS)), judge=judge()).plan.gate.metric == "checks"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"repetitions": 0}, "repetitions is 0"),
        ({"repetitions": -1}, "repetitions is -1"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"timeout_s": 0.0}, "time limit"),
        ({"shard": "0/3"}, "shard '0/3'"),
        ({"shard": "4/3"}, "shard '4/3'"),
        ({"shard": "half"}, "shard 'half'"),
        ({"gate": {"allow_unmeasured": "many"}}, "allow_unmeasured"),
        ({"gate": {"minimum_lift": 7.0}}, "minimum_lift"),
        ({"gates": {"dmo": {}}}, "did you mean 'demo'"),
        ({"xfail": ("demo::nope",)}, "unknown 'demo::nope'"),
        ({"budgets": {"max_calls": -1}}, "budgets.max_calls"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(planned: Plan_, config: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(**config)
    assert said in str(refused.value)


def test_an_empty_suite_is_nothing_to_run(planned: Plan_) -> None:
    empty = suite().model_copy(update={"cases": ()})
    with pytest.raises(UsageError, match="nothing to run"):
        planned(suites=(empty,))


def test_targets_need_names_of_their_own(planned: Plan_) -> None:
    twice = (Candidate(target("claude-code-haiku"), HTTP), Candidate(target("Claude-code-haiku"), HTTP))
    with pytest.raises(UsageError, match="two targets are called 'claude-code-haiku'"):
        planned(targets=twice)
    with pytest.raises(UsageError, match="not safe"):
        planned(targets=(Candidate(target("a/b"), HTTP),))
    with pytest.raises(UsageError, match="no target"):
        from skilltrial.plan.names import check_targets

        check_targets([])


def test_two_cases_of_a_skill_may_not_share_an_id(planned: Plan_) -> None:
    with pytest.raises(UsageError, match="'x' of skill 'demo'"):
        planned(case("x"), case("x"))


def test_ids_come_out_safe_and_xfail_follows_them(planned: Plan_) -> None:
    odd = case("über / alles", given_id="über / alles")
    plan = planned(odd, case("Sum"), case("sum"), xfail=("demo::über / alles",)).plan
    ids = [group.case for group in plan.groups if group.arm == "with_skill"]
    assert len({name.casefold() for name in ids}) == 3
    assert all(set(cell.id) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") for cell in cells(plan))
    assert plan.options.xfail == (f"demo::{ids[0]}",)
    assert plan.suites[0].cases[0].given_id == "über / alles"


# ---------------------------------------------------------------- limits and places
def test_the_nearest_time_limit_holds(planned: Plan_) -> None:
    strict = case("strict", limits=Limits(timeout_s=5, max_turns=2))
    slow = Candidate(target("slow", timeout_s=300.0), HTTP)
    plan = planned(strict, case("usual"), targets=(Candidate(target(), PROGRAM), slow)).plan
    found = {(c.id, t.name): limits_of(c, t, plan.options).timeout_s for c in plan.suites[0].cases for t in plan.targets}
    assert found == {("strict", "one"): 5, ("usual", "one"): 600, ("strict", "slow"): 5, ("usual", "slow"): 300}
    assert limits_of(plan.suites[0].cases[0], plan.targets[0], plan.options).max_turns == 2


def test_adapters_always_get_inputs() -> None:
    assert stage_of(case(stage="keep"), ADAPTER) == "inputs"
    assert stage_of(case(stage="keep"), PROGRAM) == "keep"


def test_shards_part_the_blocks_without_overlap(planned: Plan_) -> None:
    cases = [case(f"c{number}") for number in range(12)]
    whole = {cell.id for cell in cells(planned(*cases, repetitions=2).plan)}
    parts = [planned(*cases, repetitions=2, shard=f"{index}/3").plan for index in (1, 2, 3)]
    assert parts[1].shard == Shard(index=2, count=3)
    found = [cell for part in parts for cell in cells(part)]
    assert len(found) == len(whole)
    assert {cell.id for cell in found} == whole
    blocks = [{cell.block for cell in cells(part)} for part in parts]
    assert all(blocks)
    assert not blocks[0] & blocks[1] | blocks[1] & blocks[2]


# ---------------------------------------------------------------- warnings
@pytest.mark.parametrize(
    ("about", "config", "said"),
    [
        ({}, {"repetitions": 2}, "2 repetitions can tie"),
        ({}, {}, "one repetition"),
        ({}, {"repetitions": 3}, "3 runs per arm cannot show"),
        ({}, {}, "1 run per arm cannot show"),
        (
            {"fixtures": tree("files/a.csv"), "prompt": "Sum files/a.csv"},
            {},
            "the prompt says 'files/a.csv', but on old the file lies at 'inputs/files/a.csv'",
        ),
        (
            {"checks": (CONTAINS, CONTAINS.model_copy(update={"id": "w", "arms": ("with_skill",)}))},
            {},
            "counts only in with_skill",
        ),
    ],
)
def test_what_the_user_should_know_first(planned: Plan_, about: dict[str, Any], config: dict[str, Any], said: str) -> None:
    warnings = planned(case(**about), targets=(Candidate(target("old", "adapter"), ADAPTER),), **config).plan.warnings
    assert [warning for warning in warnings if said in warning]


@pytest.mark.parametrize(
    "prompt", ["Sum a.csv", "Sum ./inputs/files/a.csv", "See https://example.org/files/a.csv", "Sum the numbers"]
)
def test_a_prompt_that_names_a_file_where_it_lies_is_no_warning(planned: Plan_, prompt: str) -> None:
    made = planned(case(fixtures=tree("files/a.csv"), prompt=prompt), targets=(Candidate(target("old", "adapter"), ADAPTER),))
    assert not [warning for warning in made.plan.warnings if "the prompt says" in warning]


def test_skills_and_models_that_need_a_word(planned: Plan_) -> None:
    shy = skill(frontmatter={"disable-model-invocation": True})
    warnings = planned(
        skills=(shy,), targets=(Candidate(target(value="o3-mini", params={"temperature": 1}), HTTP),)
    ).plan.warnings
    assert any("disable-model-invocation" in warning for warning in warnings)
    assert any("o3-mini refuses temperature" in warning for warning in warnings)


def test_a_plan_survives_its_own_file(planned: Plan_) -> None:
    plan = planned(case(checks=(CONTAINS, RUBRIC)), repetitions=2, shard="1/2").plan
    assert Plan.from_stored(plan.to_json()) == plan
