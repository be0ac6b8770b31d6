"""An index with a certificate of a company's own, and one that wants to see the user's."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
import trustme

from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
from tests.adapters.archives import VERSION
from tests.adapters.index_server import Index
from tests.adapters.pip_settings import PipSettings
from tests.adapters.proxy_server import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASE = Release(VERSION)
LINK = f'<a href="/files/sglang-{VERSION}-py3-none-any.whl">sglang-{VERSION}-py3-none-any.whl</a>'


class Company:
    """Its authority's certificate, one of its people with certificate and key in one file, and its index.

    Args:
        folder: Where the files are put.
        asks: Whether the index wants to see a certificate of the company's.
    """

    def __init__(self, folder: Path, asks: bool) -> None:
        authority = trustme.CA()
        self.authority = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        self.person = folder / "person.pem"
        authority.issue_cert("person@example.org").private_key_and_cert_chain_pem.write_to_path(str(self.person))
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1", "index.invalid").configure_cert(tls)
        if asks:
            tls.verify_mode = ssl.CERT_REQUIRED
            authority.configure_trust(tls)
        self.index = Index(tls)
        self.index.html(LINK)


@pytest.fixture(params=[False, True], ids=["asks-nobody", "asks-who"])
def company(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Company]:
    made = Company(tmp_path, request.param)
    yield made
    made.index.close()


only_asking = pytest.mark.parametrize("company", [True], indirect=True)
only_silent = pytest.mark.parametrize("company", [False], indirect=True)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipSettings:
    return PipSettings(tmp_path, monkeypatch)


def refused() -> EnvironmentFault:
    with pytest.raises(EnvironmentFault) as caught:
        PyPI(backoff=0.01).releases("sglang")
    return caught.value


def test_both_certificates_of_pips_settings_are_used(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, cert=company.authority, client_cert=company.person)
    assert PyPI().releases("sglang") == [RELEASE]


def test_through_a_proxy_with_credentials_too(company: Company, settings: PipSettings) -> None:
    proxy = Proxy(company.index, "me:s3/cret")
    try:
        settings(
            index_url="https://index.invalid/simple",
            cert=company.authority,
            client_cert=company.person,
            proxy=f"http://me:s3%2Fcret@{proxy.host}",
        )
        assert PyPI().releases("sglang") == [RELEASE]
        assert proxy.seen == ["index.invalid:443"]
    finally:
        proxy.close()


@only_silent
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"])
def test_an_authority_that_the_system_or_the_environment_trusts_is_trusted(
    company: Company, settings: PipSettings, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    settings(index_url=company.index.url)
    monkeypatch.setenv(variable, str(company.authority))
    assert PyPI().releases("sglang") == [RELEASE]


@only_silent
def test_a_trusted_host_needs_no_certificate(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, trusted_host="127.0.0.1")
    assert PyPI().releases("sglang") == [RELEASE]


@only_silent
def test_an_unknown_authority_is_refused_at_once(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url)
    fault = refused()
    assert fault.message == f"no trusted connection to {company.index.host}"
    assert "CERTIFICATE_VERIFY_FAILED" in (fault.cause or "")
    assert "pip's `cert`" in (fault.hint or "")
    assert company.index.seen == []


@only_silent
def test_pips_certificates_are_the_only_ones_then(
    company: Company, settings: PipSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    settings(index_url=company.index.url, cert=tmp_path / "other.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(company.authority))
    monkeypatch.setenv("SSL_CERT_FILE", str(company.authority))
    assert "CERTIFICATE_VERIFY_FAILED" in (refused().cause or "")


@only_asking
def test_without_the_persons_certificate_nothing_is_shown(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, cert=company.authority)
    fault = refused()
    assert company.index.host in fault.message
    assert "`client-cert`" in (fault.hint or "")
    assert company.index.seen == []


@pytest.mark.parametrize("which", ["cert", "client_cert"])
def test_a_certificate_that_is_not_there_is_told(company: Company, settings: PipSettings, which: str) -> None:
    files: dict[str, object] = {"cert": company.authority, "client_cert": company.person}
    settings(index_url=company.index.url, **files | {which: "/nowhere/it.pem"})
    fault = refused()
    assert fault.message == f"no trusted connection to {company.index.host}"
    assert "/nowhere/it.pem" in (fault.cause or "")
    assert "pip's `cert`" in (fault.hint or "")


@pytest.mark.parametrize("which", ["cert", "client_cert"])
def test_a_certificate_that_is_none_is_told(
    company: Company, settings: PipSettings, which: str, tmp_path: Path
) -> None:
    (tmp_path / "odd.pem").write_text("odd\n")
    files: dict[str, object] = {"cert": company.authority, "client_cert": company.person}
    settings(index_url=company.index.url, **files | {which: tmp_path / "odd.pem"})
    fault = refused()
    assert fault.message == f"no trusted connection to {company.index.host}"
