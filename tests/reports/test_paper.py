"""Tables on a narrow terminal."""

from __future__ import annotations

import pytest
from rich.table import Table

from skilltrial.reports._paper import Paper


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_number_of_a_table_is_cut(width: int) -> None:
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    for head in ("date", "experiment", "graded", "without", "with", "lift on these"):
        table.add_column(head, overflow="fold", no_wrap=head != "experiment")
    table.add_row("2026-11-30", "iteration-12", "100/100", "100 %", "100 %", "0 (-84 to +84)")
    paper = Paper(width, False)
    paper.put(table)
    for cell in ("2026-11-30", "100/100", "100 %  ", "0 (-84 to +84)"):
        assert cell in paper.text(), paper.text()
