"""The user's pip settings, as `pip config list` prints them: whoever can use pip has nothing else to set up."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from patchtool.adapters.process import redact, run
from patchtool.domain.errors import InputError

# In pip's order of precedence, the last one wins.
_SECTIONS = ("global", "download", ":env:")
_LINE = re.compile(r"(?P<section>[^.\s]+)\.(?P<key>[a-z][a-z0-9-]*)=(?P<value>.*)")
# Options that pip knows under more than one name.
_ALIASES = {"default-timeout": "timeout", "pypi-url": "index-url"}
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_URLS = ("index-url", "extra-index-url", "find-links", "proxy")
_LOOK = "look at `python -m pip config list`"
# They change what pip prints.
_OUTPUT_VARIABLES = ("PIP_QUIET", "PIP_VERBOSE", "PIP_LOG")


@dataclass(frozen=True)
class PipConfig:
    """The settings that concern downloads.

    Args:
        index: URL or path of the main index, or None for PyPI; may hold credentials.
        extra_indexes: Further indexes.
        find_links: Folders or pages that list files.
        no_index: Whether only `find_links` is searched.
        proxy: URL, or None.
        cert: A file of certificates to trust, or None.
        client_cert: A file with the user's own certificate and key, or None.
        trusted_hosts: ``host`` or ``host:port`` that need no valid certificate.
        timeout: Seconds to wait for an answer.
        retries: How often a request is repeated.
    """

    index: str | None = None
    extra_indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    proxy: str | None = None
    cert: str | None = None
    client_cert: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = 15.0
    retries: int = 5


def read_pip_config() -> PipConfig:
    """Read the settings of all of pip's files and of the environment.

    Raises:
        EnvironmentFault: pip is not installed, or cannot read its own files.
        InputError: A value is malformed.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OUTPUT_VARIABLES}
    # Not in the user's folder: `-m` would import a pip.py from there.
    listing = run([sys.executable, "-m", "pip", "config", "list"], env=environment, cwd=Path(sys.prefix))
    return parse_pip_config(listing.stdout.decode(errors="replace"))


def parse_pip_config(listing: str) -> PipConfig:
    """Parse the output of ``pip config list``: lines ``section.key='value'``, the value as a Python literal.

    Raises:
        InputError: A value is malformed.
    """
    try:
        return _config(_values(listing))
    except (ValueError, SyntaxError) as error:
        raise InputError("pip's settings are malformed", hint=_LOOK, cause=redact(str(error))) from None


def _values(listing: str) -> dict[str, str]:
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for line in listing.splitlines():
        setting = _LINE.fullmatch(line.strip())
        if setting is None or setting["section"] not in sections:
            continue
        key = _ALIASES.get(setting["key"], setting["key"])
        sections[setting["section"]][key] = str(ast.literal_eval(setting["value"]))
    return {key: value for name in _SECTIONS for key, value in sections[name].items() if value.strip()}


def _check_urls(values: dict[str, str]) -> None:
    """Reject a URL that would be split within its password: messages would show the half taken for the host."""
    for key in _URLS:
        if not all(map(_has_valid_port, values.get(key, "").split())):
            hint = f"{_LOOK}; in a password / is written %2F, # %23, ? %3F and @ %40"
            raise InputError(f"pip's {key} is not a URL", hint=hint)


def _has_valid_port(url: str) -> bool:
    try:
        return (urlsplit(url).port or 0) >= 0
    except ValueError:
        return False


def _config(values: dict[str, str]) -> PipConfig:
    default = PipConfig()
    if "://" not in values.get("proxy", "://"):
        values["proxy"] = f"http://{values['proxy']}"
    _check_urls(values)
    return PipConfig(
        index=values.get("index-url"),
        extra_indexes=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(values.get("find-links", "").split()),
        no_index=values.get("no-index", "").lower() in _TRUE,
        proxy=values.get("proxy"),
        cert=values.get("cert"),
        client_cert=values.get("client-cert"),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout=float(values.get("timeout", default.timeout)),
        retries=int(values.get("retries", default.retries)),
    )
