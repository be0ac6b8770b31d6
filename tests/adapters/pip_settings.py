"""A user's pip.conf, and nothing of what this machine's own says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

# The machine's files are read too, and an empty value takes theirs back.
_KEYS = ("extra-index-url", "find-links", "no-index", "proxy", "cert", "client-cert", "trusted-host")
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class PipSettings:
    """Writes it anew for every call, with the keys of the call.

    Args:
        folder: Where the file is put.
        monkeypatch: Takes back what the process was told of it.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = folder / "pip.conf"
        monkeypatch.setenv("PIP_CONFIG_FILE", str(self._path))
        for name in _TRUST:
            monkeypatch.delenv(name, raising=False)

    def __call__(self, **settings: object) -> None:
        given = {key.replace("_", "-"): str(value) for key, value in settings.items()}
        lines = [f"{key} = {value}" for key, value in {**dict.fromkeys(_KEYS, ""), "retries": "0", **given}.items()]
        self._path.write_text("\n".join(["[global]", *lines, ""]))
