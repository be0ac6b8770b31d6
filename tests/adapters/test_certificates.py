"""An index with a certificate of a private authority, and one that requires a client certificate."""

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

pytestmark = pytest.mark.slow
RELEASE = Release(VERSION)
LINK = f'<a href="/files/sglang-{VERSION}-py3-none-any.whl">sglang-{VERSION}-py3-none-any.whl</a>'


class Company:
    """A private authority, a client certificate with its key in one file, and an index.

    Args:
        folder: Where the files are put.
        client_auth: Whether the index requires a client certificate.
    """

    def __init__(self, folder: Path, client_auth: bool) -> None:
        authority = trustme.CA()
        self.authority = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        self.client = folder / "client.pem"
        authority.issue_cert("client@example.org").private_key_and_cert_chain_pem.write_to_path(str(self.client))
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1", "index.invalid").configure_cert(tls)
        if client_auth:
            tls.verify_mode = ssl.CERT_REQUIRED
            authority.configure_trust(tls)
        self.index = Index(tls)
        self.index.html(LINK)


@pytest.fixture(params=[False, True], ids=["no-client-auth", "client-auth"])
def company(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Company]:
    created = Company(tmp_path, request.param)
    yield created
    created.index.close()


with_client_auth = pytest.mark.parametrize("company", [True], indirect=True)
without_client_auth = pytest.mark.parametrize("company", [False], indirect=True)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipSettings:
    return PipSettings(tmp_path, monkeypatch)


def fault_of_listing() -> EnvironmentFault:
    with pytest.raises(EnvironmentFault) as caught:
        PyPI(backoff=0.01).releases("sglang")
    return caught.value


def test_cert_and_client_cert_of_pip_are_used(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, cert=company.authority, client_cert=company.client)
    assert PyPI().releases("sglang") == [RELEASE]


def test_certificates_are_used_through_a_proxy(company: Company, settings: PipSettings) -> None:
    proxy = Proxy(company.index, "me:s3/cret")
    try:
        settings(
            index_url="https://index.invalid/simple",
            cert=company.authority,
            client_cert=company.client,
            proxy=f"http://me:s3%2Fcret@{proxy.host}",
        )
        assert PyPI().releases("sglang") == [RELEASE]
        assert proxy.seen == ["index.invalid:443"]
    finally:
        proxy.close()


@without_client_auth
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"])
def test_authority_trusted_by_the_system_or_environment_is_trusted(
    company: Company, settings: PipSettings, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    settings(index_url=company.index.url)
    monkeypatch.setenv(variable, str(company.authority))
    assert PyPI().releases("sglang") == [RELEASE]


@without_client_auth
def test_trusted_host_needs_no_valid_certificate(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, trusted_host="127.0.0.1")
    assert PyPI().releases("sglang") == [RELEASE]


@without_client_auth
def test_unknown_authority_is_rejected_before_any_request(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url)
    fault = fault_of_listing()
    assert fault.message == f"no trusted connection to {company.index.host}"
    assert "CERTIFICATE_VERIFY_FAILED" in (fault.cause or "")
    assert "pip's `cert`" in (fault.hint or "")
    assert company.index.seen == []


@without_client_auth
def test_cert_of_pip_replaces_all_other_authorities(
    company: Company, settings: PipSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    settings(index_url=company.index.url, cert=tmp_path / "other.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(company.authority))
    monkeypatch.setenv("SSL_CERT_FILE", str(company.authority))
    assert "CERTIFICATE_VERIFY_FAILED" in (fault_of_listing().cause or "")


@with_client_auth
def test_index_that_requires_a_client_certificate_rejects_others(company: Company, settings: PipSettings) -> None:
    settings(index_url=company.index.url, cert=company.authority)
    fault = fault_of_listing()
    assert company.index.host in fault.message
    assert "`client-cert`" in (fault.hint or "")
    assert company.index.seen == []


@pytest.mark.parametrize("which", ["cert", "client_cert"])
def test_missing_certificate_file_is_named(company: Company, settings: PipSettings, which: str) -> None:
    files: dict[str, object] = {"cert": company.authority, "client_cert": company.client}
    settings(index_url=company.index.url, **files | {which: "/nowhere/it.pem"})
    fault = fault_of_listing()
    assert fault.message == f"no trusted connection to {company.index.host}"
    assert "/nowhere/it.pem" in (fault.cause or "")
    assert "pip's `cert`" in (fault.hint or "")


@pytest.mark.parametrize("which", ["cert", "client_cert"])
def test_malformed_certificate_file_is_a_tls_error(
    company: Company, settings: PipSettings, which: str, tmp_path: Path
) -> None:
    (tmp_path / "odd.pem").write_text("odd\n")
    files: dict[str, object] = {"cert": company.authority, "client_cert": company.client}
    settings(index_url=company.index.url, **files | {which: tmp_path / "odd.pem"})
    fault = fault_of_listing()
    assert fault.message == f"no trusted connection to {company.index.host}"
