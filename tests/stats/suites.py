"""Random suites: scores of both arms, weights and clusters."""

from hypothesis import strategies as st

scores = st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.25, 0.5, 0.75])
row = st.lists(scores, min_size=1, max_size=5)
weights_of_ten = st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=10, max_size=10)


@st.composite
def suites(draw: st.DrawFn) -> tuple[list[list[float]], list[list[float]], list[float] | None, list[str] | None]:
    pairs = draw(st.lists(st.tuples(row, row), min_size=1, max_size=10))
    count = len(pairs)
    weights = draw(weights_of_ten)
    clusters = draw(st.none() | st.lists(st.sampled_from("abcdefgh"), min_size=count, max_size=count))
    return [a for a, _ in pairs], [b for _, b in pairs], weights and weights[:count], clusters
