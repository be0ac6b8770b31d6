"""conda: a recipe that builds a package of the release and the patches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.exporters.snippets import with_release
from patchtool.exporters.text_patches import NOT_UTF_8, refuse_links, refuse_names

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "rattler-build build --recipe …/recipe.yaml"

_LINE_FEED = re.compile(rb"(?<!\r)\n")


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return ``recipe.yaml``, the release and the patches.

    Raises:
        InputError: rattler-build, which has a patch program of its own, would write other bytes.
    """
    refuse_links(series, "rattler-build", modes=True)
    refuse_names(series, "rattler-build", NOT_UTF_8, "is not UTF-8")
    for file in series.files:
        states = [data for data in (file.before, file.after) if data is not None]
        if any(b"\r\n" in data for data in states) and any(_LINE_FEED.search(data) for data in states):
            raise _refused(file.path, "has more than one kind of line ending")
        if b"" in states:
            raise _refused(file.path, "is empty, before or after the series")
        if len({data.endswith(b"\n") for data in states}) > 1:
            raise _refused(file.path, "gains or loses its final newline")
    return with_release(series, "recipe.yaml")


def _refused(path: str, what: str) -> InputError:
    return InputError(
        f"{path} {what}, which rattler-build does not keep", hint="another format keeps it, such as quilt"
    )
