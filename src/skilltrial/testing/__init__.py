"""What a plug-in has to keep to, as calls for the tests of whoever wrote it.

    from skilltrial.testing import check_backend

    def test_my_backend_keeps_the_contract():
        check_backend(MyBackend, value="offline")

Each of them looks at everything and raises one AssertionError that names all that is broken. Our own plug-ins pass the same rules.
"""

from skilltrial.testing.backends import check_backend
from skilltrial.testing.formats import check_format
from skilltrial.testing.graders import check_grader, grade_once
from skilltrial.testing.listeners import check_listener
from skilltrial.testing.reports import check_report
from skilltrial.testing.sandboxes import check_sandbox

__all__ = ["check_backend", "check_format", "check_grader", "check_listener", "check_report", "check_sandbox", "grade_once"]
