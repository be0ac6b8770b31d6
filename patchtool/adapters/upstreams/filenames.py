"""What a distribution's file name says: which project, which release."""

from __future__ import annotations

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release


def release_of(filename: str, project: str) -> Release | None:
    """The release a file belongs to.

    Returns:
        None for another project, another kind of file, and a version that is none in our spelling.

    Source: the packaging specifications for wheel and source distribution file names.
    """
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        canonicalize_name,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    try:
        if filename.endswith(".whl"):
            name, version = parse_wheel_filename(filename)[:2]
        elif filename.endswith(".tar.gz"):
            name, version = parse_sdist_filename(filename)
        else:
            return None
        return Release.parse(str(version)) if name == canonicalize_name(project) else None
    except (InvalidWheelFilename, InvalidSdistFilename, InputError):
        return None
