"""The command line in this process, and a skill with a suite, as the flows' own tests have them."""

from ..flows.conftest import colours, new_skill, skilltrial

__all__ = ["colours", "new_skill", "skilltrial"]
