"""What went wrong on the network, in our words: what, where, and what to do about it."""

from __future__ import annotations

from urllib.parse import urlsplit

import requests
from requests.utils import select_proxy

from patchtool.adapters.process import redact
from patchtool.adapters.upstreams import NO_NETWORK
from patchtool.domain.errors import EnvironmentFault

_NO_ACCESS = (401, 403)
_PROXY_REFUSES = 407
_INDEX_CREDENTIALS = "give pip the credentials for it, in the index URL or in netrc"
_PROXY_CREDENTIALS = (
    "give pip the proxy's credentials: `python -m pip config set global.proxy http://USER:PW@HOST:PORT`"
)
_CERTIFICATES = "name the certificates to trust with pip's `cert`, and your own with its `client-cert`"


def fault(session: requests.Session, url: str, error: Exception) -> EnvironmentFault:
    """Say a failure of the network as one of ours, without secrets.

    Args:
        session: What asked; knows the proxy it went through.
        url: What was asked for, without credentials.
        error: What came back.
    """
    host, proxy = urlsplit(url).netloc or url, _proxy(session, url)
    message, hint = f"cannot reach {host}" + (f" through the proxy {proxy}" if proxy else ""), NO_NETWORK
    if proxy and _refused_by_proxy(error):
        message, hint = f"the proxy {proxy} refuses the way to {host}", _PROXY_CREDENTIALS
    elif isinstance(error, requests.HTTPError) and error.response is not None:
        message = f"{host} answered {error.response.status_code}"
        hint = _INDEX_CREDENTIALS if error.response.status_code in _NO_ACCESS else hint
    elif isinstance(error, requests.exceptions.SSLError):
        message, hint = f"no trusted connection to {host}", _CERTIFICATES
    elif not isinstance(error, requests.RequestException) or isinstance(error, requests.exceptions.InvalidJSONError):
        message = f"{host} answers with something else than an index page"
    return EnvironmentFault(message, hint=hint, cause=redact(str(error)))


def _proxy(session: requests.Session, url: str) -> str | None:
    """The host and port that a request goes through, if any."""
    proxies = session.merge_environment_settings(url, {}, None, None, None)["proxies"]
    proxy = select_proxy(url, proxies)
    return proxy.rpartition("@")[2].rpartition("://")[2].rstrip("/") if proxy else None


def _refused_by_proxy(error: Exception) -> bool:
    """Whether the proxy wants other credentials: its answer to a plain request, its refusal of a tunnel."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code == _PROXY_REFUSES
    return isinstance(error, requests.exceptions.ProxyError) and f"failed: {_PROXY_REFUSES}" in str(error)
