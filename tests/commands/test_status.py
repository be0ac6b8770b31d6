"""The state of every patch, on the pin and on other releases."""

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream


def test_status_reports_a_patch_whose_site_is_missing(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE.replace("self.table[total:] = 0", "pass")})
    status = upstream.run("status", "--on", "v1.1", "--json")
    assert (status.code, status.states()["dense"]) == (3, "conflict")
