"""What a run leaves in its folder is graded as it was left, and gone afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ADAPTER = """#!/bin/sh
cat >/dev/null
echo "written by the run" > out.txt
echo '{"output": "done"}'
"""


def test_a_file_that_the_run_wrote_is_read_by_its_check(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    adapter = tmp_path / "agent.sh"
    adapter.write_text(ADAPTER)
    adapter.chmod(0o755)
    checks = [{"type": "file_contains", "path": "out.txt", "contains": "by the run"}]
    skill = new_skill([{"id": 1, "prompt": "Write out.txt.", "checks": checks}])
    (tmp_path / "places").mkdir()
    said = skilltrial("run", skill, "--adapter", adapter, "-n", 1, "--format", "json", "--workspaces-dir", tmp_path / "places")
    assert [rate["pass_rate"] for rate in said.summary["rates"]] == [1.0, 1.0], said.err
    assert not list((tmp_path / "places").iterdir())
