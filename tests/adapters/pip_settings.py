"""A pip.conf for one test, without the settings of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

# pip reads the machine's files too; an empty value overrides theirs.
_KEYS = ("extra-index-url", "find-links", "no-index", "proxy", "cert", "client-cert", "trusted-host")
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class PipSettings:
    """Each call rewrites the file with the given keys.

    Args:
        folder: Of the file.
        monkeypatch: Sets the environment variable that names it.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = folder / "pip.conf"
        monkeypatch.setenv("PIP_CONFIG_FILE", str(self._path))
        for name in ("PIP_NO_INDEX", *_TRUST):
            monkeypatch.delenv(name, raising=False)

    def __call__(self, **settings: object) -> None:
        given = {key.replace("_", "-"): str(value) for key, value in settings.items()}
        lines = [f"{key} = {value}" for key, value in {**dict.fromkeys(_KEYS, ""), "retries": "0", **given}.items()]
        self._path.write_text("\n".join(["[global]", *lines, ""]))
