"""The user's own pip settings: which indexes, through which proxy, trusting whom."""

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

# The last one wins, as in pip: everyone's section, the command's, the environment.
_SECTIONS = ("global", "download", ":env:")
_LINE = re.compile(r"(?P<section>[^.\s]+)\.(?P<key>[a-z][a-z0-9-]*)=(?P<value>.*)")
# Options that pip knows under more than one name.
_ALIASES = {"default-timeout": "timeout", "pypi-url": "index-url"}
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_URLS = ("index-url", "extra-index-url", "find-links", "proxy")
_LOOK = "look at `python -m pip config list`"
_TALKATIVE = ("PIP_QUIET", "PIP_VERBOSE", "PIP_LOG")


@dataclass(frozen=True)
class PipConfig:
    """What pip would use.

    Args:
        index: The main index, a URL or a path, or None for the default; may hold credentials.
        extra_indexes: Further ones.
        find_links: Folders or pages that list files.
        no_index: Whether no index may be used, only `find_links`.
        proxy: URL, or None.
        cert: A file of certificates to trust, or None.
        client_cert: A file with the user's own certificate and key, or None.
        trusted_hosts: ``host`` or ``host:port`` that need no valid certificate.
        timeout: Seconds without an answer.
        retries: How often to try again.
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
    """Ask pip for its settings: files, environment and all.

    Raises:
        EnvironmentFault: pip is not there, or cannot read its own files.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _TALKATIVE}
    # Elsewhere than in the user's folder: `-m` would import a file called pip.py from there.
    listing = run([sys.executable, "-m", "pip", "config", "list"], env=environment, cwd=Path(sys.prefix))
    return parse_pip_config(listing.stdout.decode(errors="replace"))


def parse_pip_config(listing: str) -> PipConfig:
    """Read the output of ``pip config list``: ``section.key='value'``, the value in Python's spelling.

    Raises:
        InputError: A value makes no sense.
    """
    try:
        return _config(_values(listing))
    except (ValueError, SyntaxError) as error:
        raise InputError("pip's settings cannot be understood", hint=_LOOK, cause=redact(str(error))) from None


def _values(listing: str) -> dict[str, str]:
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for line in listing.splitlines():
        found = _LINE.fullmatch(line.strip())
        if found is None or found["section"] not in sections:
            continue
        key = _ALIASES.get(found["key"], found["key"])
        sections[found["section"]][key] = str(ast.literal_eval(found["value"]))
    return {key: value for name in _SECTIONS for key, value in sections[name].items() if value.strip()}


def _check_urls(values: dict[str, str]) -> None:
    """Refuse a URL that would be split inside of its password: half of it would be taken for the host, and told."""
    for key in _URLS:
        if not all(map(_splits, values.get(key, "").split())):
            hint = f"{_LOOK}; in a password / is written %2F, # %23, ? %3F and @ %40"
            raise InputError(f"pip's {key} is no URL", hint=hint)


def _splits(url: str) -> bool:
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
