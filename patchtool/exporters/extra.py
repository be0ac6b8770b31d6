"""Libraries that only exporters need; they are in the extra ``export``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from patchtool import DISTRIBUTION
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def extra_libraries(name: str) -> Iterator[None]:
    """Explain a failed import in the block.

    Args:
        name: The format that needs the libraries.

    Raises:
        EnvironmentFault: A library is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise EnvironmentFault(
            f"the format {name} needs the library {(error.name or str(error)).partition('.')[0]}",
            hint=f"pip install '{DISTRIBUTION}[export]'",
            cause=str(error),
        ) from error
