"""URLs that are none."""

import pytest

from skilltrial.system.addresses import parts_of


@pytest.mark.parametrize("url", ["http://[::", "http://[x]/", "http://x:99999/", "http://x:abc", 'fake:{"rules":[]}//[]', ""])
def test_what_is_no_url_has_no_host(url: str) -> None:
    parts = parts_of(url)
    assert (parts.scheme, parts.hostname, parts.port) == ("", None, None) or parts.hostname is None


def test_a_url_has_its_parts() -> None:
    parts = parts_of("http://user@[::1]:8080/v1")
    assert (parts.hostname, parts.port, parts.path) == ("::1", 8080, "/v1")
