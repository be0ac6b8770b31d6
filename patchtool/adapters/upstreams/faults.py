"""Errors of the network as `EnvironmentFault`: which host or proxy failed, and which of pip's settings to change."""

from __future__ import annotations

from urllib.parse import urlsplit

import requests
from requests.utils import select_proxy

from patchtool.adapters.process import redact
from patchtool.adapters.upstreams.base import NO_NETWORK
from patchtool.adapters.upstreams.received import UnacceptableError
from patchtool.adapters.upstreams.session import RedirectError
from patchtool.domain.errors import EnvironmentFault

_DENIED = (401, 403)
_PROXY_DENIED = 407
_INDEX_CREDENTIALS = "give pip the credentials for it, in the index URL or in netrc"
_PROXY_CREDENTIALS = (
    "give pip the proxy's credentials: `python -m pip config set global.proxy http://USER:PW@HOST:PORT`"
)
_CERTIFICATES = "name the certificates to trust with pip's `cert`, and your own with its `client-cert`"


def network_fault(session: requests.Session, url: str, error: Exception) -> EnvironmentFault:
    """Explain an error of the network, without secrets.

    Args:
        session: The session of the request; knows the proxy.
        url: The URL of the request, without credentials.
        error: What was raised.
    """
    host, proxy = urlsplit(url).netloc or url, _proxy(session, url)
    message, hint = f"cannot reach {host}" + (f" through the proxy {proxy}" if proxy else ""), NO_NETWORK
    if proxy and _denied_by_proxy(error):
        message, hint = f"the proxy {proxy} denies access to {host}", _PROXY_CREDENTIALS
    elif isinstance(error, requests.HTTPError) and error.response is not None:
        message = f"{host} answered {error.response.status_code}"
        hint = _INDEX_CREDENTIALS if error.response.status_code in _DENIED else hint
    elif isinstance(error, requests.exceptions.SSLError):
        message, hint = f"no trusted connection to {host}", _CERTIFICATES
    elif isinstance(error, RedirectError):
        message, hint = f"the redirect of {host} is not followed", "use an index that stays encrypted"
    elif isinstance(error, UnacceptableError):
        message = f"the answer of {host} is refused"
    elif not isinstance(error, requests.RequestException) or isinstance(error, requests.exceptions.InvalidJSONError):
        message = f"the answer of {host} is not an index page"
    return EnvironmentFault(message, hint=hint, cause=redact(str(error)))


def _proxy(session: requests.Session, url: str) -> str | None:
    """The host and port of the proxy for a URL, if any."""
    proxies = session.merge_environment_settings(url, {}, None, None, None)["proxies"]
    proxy = select_proxy(url, proxies)
    return proxy.rpartition("@")[2].rpartition("://")[2].rstrip("/") if proxy else None


def _denied_by_proxy(error: Exception) -> bool:
    """Whether the proxy asks for other credentials, in answer to a request or to the CONNECT of a tunnel."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code == _PROXY_DENIED
    return isinstance(error, requests.exceptions.ProxyError) and f"failed: {_PROXY_DENIED}" in str(error)
