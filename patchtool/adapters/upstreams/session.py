"""An HTTP session with the user's pip settings: proxy, certificates, credentials, timeout and retries."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth
from requests.utils import get_netrc_auth
from urllib3 import disable_warnings
from urllib3.exceptions import InsecureRequestWarning
from urllib3.util import Retry
from urllib3.util.ssl_ import create_urllib3_context

from patchtool import __version__

if TYPE_CHECKING:
    from patchtool.adapters.upstreams.pipconfig import PipConfig

_CONNECT_RETRIES = 3
_MOST_REDIRECTS = 10
_LONGEST_PAUSE = 30.0
"""Seconds."""
_BUSY = (429, 500, 502, 503, 504)


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Separate user name and password from a URL.

    Returns:
        The URL without them, and the pair if there was one.
    """
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    host = parts.netloc.rpartition("@")[2]
    pair = (unquote(parts.username or ""), unquote(parts.password or ""))
    return urlunsplit(parts._replace(netloc=host)), pair


class HostCredentials(AuthBase):
    """Credentials by host: those of an index also apply to files on its host; others come from the user's netrc.

    Those of a host that is reached encrypted are not sent to it in the clear.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, tuple[str, tuple[str, str]]] = {}

    def strip(self, url: str) -> str:
        """Remember the credentials in a URL for its host, and return the URL without them."""
        bare, pair = split_credentials(url)
        if pair is not None:
            parts = urlsplit(bare)
            self._pairs.setdefault(parts.netloc, (parts.scheme, pair))
        return bare

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the credentials of the host to a request."""
        url = request.url or ""
        parts = urlsplit(url)
        scheme, pair = self._pairs.get(parts.netloc) or (parts.scheme, get_netrc_auth(url))
        if scheme == "https" != parts.scheme:
            return request
        return HTTPBasicAuth(*pair)(request) if pair else request


class RedirectError(requests.RequestException):
    """A redirect that is not followed."""


class _Session(requests.Session):
    """Follows few redirects, and none that would give up encryption or leave the network."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = _MOST_REDIRECTS

    def get_redirect_target(self, response: requests.Response) -> str | None:
        """The next URL of a redirect."""
        target = super().get_redirect_target(response)
        if target is not None:
            start, end = urlsplit(response.url), urlsplit(urljoin(response.url, target))
            if end.scheme not in ("http", "https") or (start.scheme == "https" != end.scheme):
                raise RedirectError(f"it leads from {start.scheme} to {end.scheme}")
        return target


class _Retry(Retry):
    def get_retry_after(self, response: Any) -> float | None:
        """What the server asks for, within reason."""
        seconds = super().get_retry_after(response)
        return None if seconds is None else min(seconds, _LONGEST_PAUSE)


class _Adapter(HTTPAdapter):
    """Retries, timeout and certificates, which environment variables of `requests` do not override.

    Args:
        config: pip's settings.
        backoff: Seconds before the first retry.
        verify: A file with the only certificates to trust, False to trust every host, or None to trust the certificates
            of certifi and of the system.
    """

    def __init__(self, config: PipConfig, backoff: float, verify: bool | str | None) -> None:
        self._timeout = config.timeout
        self._verify = verify
        self._pool: dict[str, Any] = {"ssl_context": _system_trust()} if verify is None else {}
        super().__init__(
            max_retries=_Retry(
                total=config.retries,
                connect=min(config.retries, _CONNECT_RETRIES),  # without a network the error should come soon
                other=0,  # an untrusted certificate stays untrusted
                backoff_factor=backoff,
                status_forcelist=_BUSY,
                allowed_methods=("GET",),
                raise_on_status=False,  # the last response says more than "too many retries"
            )
        )

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        """Send a request with the timeout and the certificates of this adapter."""
        if options.get("timeout") is None:
            options["timeout"] = self._timeout
        if self._verify is not None:
            options["verify"] = self._verify
        return super().send(request, **options)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Create the pool of direct connections."""
        super().init_poolmanager(*args, **(options | self._pool))

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Create the pool of connections through a proxy."""
        return super().proxy_manager_for(proxy, **(options | self._pool))

    def cert_verify(self, *args: Any, **options: Any) -> None:
        """Set the certificates of a connection; a missing file is an error of TLS, not of the disk."""
        try:
            super().cert_verify(*args, **options)  # type: ignore[no-untyped-call]
        except OSError as error:
            raise requests.exceptions.SSLError(error) from error


def _system_trust() -> ssl.SSLContext:
    """Trust the system's certificates, as pip does: a company's own authority is installed there."""
    context = create_urllib3_context()
    context.load_default_certs()
    return context


def open_session(config: PipConfig, credentials: HostCredentials, backoff: float) -> requests.Session:
    """Open a session.

    Args:
        config: pip's settings.
        credentials: Of the hosts.
        backoff: Seconds before the first retry, doubled for each further one.
    """
    session = _Session()
    session.headers["User-Agent"] = f"patchtool/{__version__}"
    session.auth = credentials
    session.cert = config.client_cert
    session.mount("https://", _Adapter(config, backoff, config.cert))
    session.mount("http://", _Adapter(config, backoff, verify=True))
    for host in config.trusted_hosts:
        disable_warnings(InsecureRequestWarning)
        # Both end with a character that no host name has: a bare prefix would also match host.example.evil.
        for prefix in (f"https://{host}/", f"https://{host}:"):
            session.mount(prefix, _Adapter(config, backoff, verify=False))
    if config.proxy is not None:
        session.proxies = {"http": config.proxy, "https": config.proxy}
        session.trust_env = False  # else the environment's proxy would take precedence over pip's
    return session
