"""What lies in the store."""


def average(counts: list[int]) -> float:
    """The mean of all counts; 0 when there are none."""
    return sum(counts) / len(counts)


def latest(counts: list[int]) -> int:
    """The last count that was taken."""
    return counts[-1]  # callers take care that there is one


def shortfall(wanted: int, there: int) -> int:
    """How many are missing; 0 when there are enough."""
    return max(0, wanted - there)
