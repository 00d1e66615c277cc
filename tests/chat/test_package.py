"""What a model behind HTTP receives in each arm."""

from collections.abc import Callable
from typing import Any

from skilltrial.chat.package import FILE_BYTES, Packages, system_message, user_message
from skilltrial.seams import Job


def test_with_the_skill_the_model_gets_name_description_body_and_reference_text(blobs: Any, new_job: Callable[..., Job]) -> None:
    skill = blobs.skill(
        "tides",
        "Reads tide tables",
        "Add 12 h 25 min.",
        {"references/deep/moon.md": "The moon pulls.", "references/raw.csv": "1,2"},
    )
    system = system_message(new_job(skills=(skill,)))
    assert system is not None
    for part in (
        "tides",
        "Reads tide tables",
        "Add 12 h 25 min.",
        "references/deep/moon.md",
        "The moon pulls.",
        "references/raw.csv (3 bytes)",
    ):
        assert part in system
    assert "1,2" not in system


def test_scripts_and_assets_are_listed_by_path_size_and_first_line_only(blobs: Any, new_job: Callable[..., Job]) -> None:
    files = {
        "scripts/run.sh": "#!/usr/bin/env bash\necho secret-step\n",
        "scripts/plain.py": "print(1)\n",
        "assets/logo.png": b"\x89PNG\0\0",
    }
    system = system_message(new_job(skills=(blobs.skill("s", "d", "b", files),))) or ""
    assert "scripts/run.sh (37 bytes) #!/usr/bin/env bash" in system
    assert "scripts/plain.py (9 bytes)\n" in system
    assert "assets/logo.png (6 bytes)" in system
    assert "secret-step" not in system and "print(1)" not in system


def test_without_the_skill_there_is_no_system_message(new_job: Callable[..., Job]) -> None:
    assert system_message(new_job()) is None
    assert system_message(new_job(system="You judge.")) == "You judge."


def test_the_jobs_own_system_text_comes_before_the_skill(blobs: Any, new_job: Callable[..., Job]) -> None:
    system = system_message(new_job(system="Be brief.", skills=(blobs.skill("s", "d", "b"),))) or ""
    assert system.startswith("Be brief.\n\n")


def test_several_skills_are_all_given(blobs: Any, new_job: Callable[..., Job]) -> None:
    skills = (blobs.skill("one", "first", "b1"), blobs.skill("two", "second", "b2"))
    system = system_message(new_job(skills=skills)) or ""
    assert system.count("<skill name=") == 2


def test_fixtures_are_the_same_text_in_both_arms(blobs: Any, new_job: Callable[..., Job]) -> None:
    fixtures = blobs.tree({"evals/files/notes.md": "pick the blue one"})
    with_skill = user_message(new_job("Which?", fixtures=fixtures, skills=(blobs.skill("s", "d", "b"),)))
    without = user_message(new_job("Which?", fixtures=fixtures))
    assert with_skill == without
    assert '<file path="notes.md">\npick the blue one\n</file>' in without
    assert without.endswith("The task:\nWhich?")


def test_a_prompt_without_files_is_sent_as_it_is(new_job: Callable[..., Job]) -> None:
    assert user_message(new_job("Just {{this}}.")) == "Just {{this}}."


def test_only_a_listed_files_name_in_double_braces_is_replaced(blobs: Any, new_job: Callable[..., Job]) -> None:
    fixtures = blobs.tree({"evals/files/a.txt": "ALPHA {{b.txt}}", "evals/files/b.txt": "BETA"})
    assert user_message(new_job("{{a.txt}} and {{evals/files/b.txt}}, not {{c.txt}}", fixtures=fixtures)) == (
        "ALPHA {{b.txt}} and BETA, not {{c.txt}}"
    )


def test_a_name_that_two_files_share_stands_for_neither(blobs: Any, new_job: Callable[..., Job]) -> None:
    fixtures = blobs.tree({"x/a.txt": "ONE", "y/a.txt": "TWO"})
    assert "The task:\n{{a.txt}} TWO" in user_message(new_job("{{a.txt}} {{y/a.txt}}", fixtures=fixtures))


def test_binary_files_are_named_not_inlined(blobs: Any, new_job: Callable[..., Job]) -> None:
    user = user_message(new_job("Look", fixtures=blobs.tree({"p.png": b"\x89PNG\0\0\0"})))
    assert '<file path="p.png" bytes="7" left-out="binary"/>' in user


def test_long_files_are_cut_and_the_run_is_warned(blobs: Any, new_job: Callable[..., Job]) -> None:
    package = Packages().of(new_job("Look", fixtures=blobs.tree({"long.txt": "é" * FILE_BYTES})))
    assert package.user.count("é") == FILE_BYTES // 2
    assert package.warnings == (f"the task: long.txt is cut to {FILE_BYTES} of its {2 * FILE_BYTES} bytes",)


def test_references_beyond_the_total_are_named_with_a_warning(blobs: Any, new_job: Callable[..., Job]) -> None:
    files = {f"references/{number}.md": "x" * FILE_BYTES for number in range(5)}
    package = Packages().of(new_job(skills=(blobs.skill("s", "d", "b", files),)))
    assert package.system is not None and 'path="references/4.md" bytes="65536" left-out' in package.system
    assert package.warnings == ("skill 's': references/4.md is named but not shown, since at most 256 KiB are sent in all",)


def test_a_package_is_built_once_per_arm_and_case(blobs: Any, new_job: Callable[..., Job]) -> None:
    packages = Packages()
    job = new_job(skills=(blobs.skill("s", "d", "b"),), fixtures=blobs.tree({"a.txt": "A"}))
    first = packages.of(job)
    blobs.kept.clear()
    assert packages.of(job) == first
