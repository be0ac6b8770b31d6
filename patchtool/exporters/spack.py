"""spack: patches, and the directives of a package that apply them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.snippets import patches_with_snippet

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "put the patches beside package.py, and the lines of patches.py into its class"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the patches and the directives for ``package.py``; versions have no local part there, ``+`` is a variant.

    Source: Spack's packaging guide, spec syntax.
    """
    facts = {"public_version": series.upstream_version.partition("+")[0]}
    return patches_with_snippet(series, "package.py.jinja", "patches.py", facts=facts)
