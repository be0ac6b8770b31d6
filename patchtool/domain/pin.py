"""``upstream-pin.txt``: one exact pip requirement, with hashes or at a commit, read as pip reads it in hash mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNKNOWN = "package"
"""Stands for the distribution in an example where nothing says its name."""
GIT_SCHEMES = ("https", "http", "ssh", "git", "file")
"""What may follow ``git+`` in a URL; git's other transports can run programs."""

# What almost every pin is, read without the parser of PEP 508, which takes longer to load than the rest of a run.
_NAME = r"(?P<project>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_NAMED = re.compile(_NAME + r"\s*(?:[\[(=<>!~@;]|$)")
_PLAIN = re.compile(_NAME + r"\s*==\s*(?P<version>[^\s;,()=*]+)")
_DIRECT = re.compile(_NAME + r"\s*@\s*(?P<url>\S+)")
_AT_COMMIT = re.compile(r"(?P<repository>git\+[^#]+?)@(?P<commit>[^@/#]+)(?:#(?P<fragment>.*))?")
_ARTIFACT_SCHEMES = ("https://", "http://", "file://")
_COMMENT = re.compile(r"(^|\s+)#.*$")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX40 = re.compile(r"[0-9a-f]{40}")
_HEX64 = re.compile(r"[0-9a-f]{64}")


class GitSource(NamedTuple):
    """A git repository that has the upstream.

    Args:
        url: Without ``git+``: ``https:``, ``http:``, ``ssh:``, ``git:`` or ``file:``.
        subdirectory: The folder of the repository that has the distribution, or empty for its root.
    """

    url: str
    subdirectory: str = ""

    def at(self, commit: str) -> str:
        """The direct reference to a commit, as in PEP 508."""
        fragment = f"#subdirectory={self.subdirectory}" if self.subdirectory else ""
        return f"git+{self.url}@{commit}{fragment}"


class Pin(NamedTuple):
    """The upstream release or commit that the series is applied to.

    Args:
        project: The distribution's name on the index.
        release: The exact release, or the commit.
        hashes: SHA-256 of every artifact of the release, lower-case hex, sorted; an artifact must have one of them.
            Empty for a commit, whose id verifies it.
        git: The repository that has the commit; None for a release of the index.
        extras: The extras in brackets, as written.
        url: Where its only artifact is, for a direct reference to a wheel or source archive; without a fragment.
        marker: The environment marker, as written. It says where to install the release, not which one is patched.
    """

    project: str
    release: Release
    hashes: tuple[str, ...] = ()
    git: GitSource | None = None
    extras: str = ""
    marker: str = ""
    url: str = ""

    @property
    def requirement(self) -> str:
        """The requirement without hashes and comment."""
        name = f"{self.project}[{self.extras}]" if self.extras else self.project
        if self.url:
            return f"{name} @ {self.url}#sha256={self.hashes[0]}" + (f" ; {self.marker}" if self.marker else "")
        if self.git is None:
            return f"{name}=={self.release.version}" + (f" ; {self.marker}" if self.marker else "")
        return f"{name} @ {self.git.at(self.release.commit)}" + (f" ; {self.marker}" if self.marker else "")

    def moved(self, release: Release, hashes: tuple[str, ...], git: GitSource | None) -> Pin:
        """The pin on another release or commit, with the same extras and marker."""
        url = self.url if release == self.release else ""
        return self._replace(release=release, hashes=hashes, git=git, url=url)

    def format(self) -> str:
        """Return the text of the file; the name of a commit is a comment, as in pinned GitHub actions."""
        if self.git is not None:
            return self.requirement + (f"  # {self.release.name}" if self.release.name else "") + "\n"
        hashes = self.hashes[1:] if self.url else self.hashes
        lines = [self.requirement, *(f"    --hash=sha256:{value}" for value in sorted(hashes))]
        return " \\\n".join(lines) + "\n"


def example_pin(distribution: str) -> str:
    """Return what a pin of a distribution may look like, for hints."""
    return (
        f"{distribution}==1.2.3 \\\n    --hash=sha256:<64 hex digits>\n"
        "or, for a commit:\n"
        f"{distribution} @ git+https://HOST/OWNER/{distribution}@<40 hex digits>"
    )


def parse_pin(text: str, where: str, likely: Callable[[], str] = lambda: UNKNOWN) -> Pin:
    """Read a pin file.

    Args:
        text: The whole file.
        where: Its name, for messages.
        likely: The distribution to show in an example where the file itself names none; called for an error only.

    Raises:
        InputError: Empty, two requirements, not exact, no hash or a bad one; names the line and shows a valid example.

    Source: pip's requirements file format, hash-checking mode; PEP 508.
    """

    def invalid(line: int, rule: str) -> InputError:
        named = _NAMED.match(spec)
        example = example_pin(named["project"] if named else likely())
        return InputError(f"{where}:{line}: {rule}", hint=f"a valid pin looks like:\n{example}")

    spec = ""
    requirements = [line for line in _logical_lines(text) if line.text.strip() != "--require-hashes"]
    if not requirements:
        raise invalid(1, "the pin is empty")
    named = next((line for line in requirements if not line.text.startswith("-")), requirements[0])
    spec = named.text.partition(" -")[0].rstrip()
    option = next((line for line in requirements if line.text.startswith("-")), None)
    if option is not None and not option.text.startswith("--hash"):
        raise invalid(option.number, _not_allowed(option.text.split()[0]))
    if len(requirements) > 1:
        raise invalid(requirements[1].number, "a pin holds exactly one requirement, this is the second")
    line = requirements[0]
    try:
        spec, options = _split(line.text)
        return _pin(spec, tuple(sorted({_hash(option) for option in options})), line.comment)
    except InputError as error:
        raise invalid(_line_of(text, line, error.hint or spec), error.message) from None
    except ValueError as error:  # of shlex
        raise invalid(line.number, f"the options cannot be read: {error}") from None


class _Line(NamedTuple):
    """A logical line: its first line's number, its text without the comment, and the comment."""

    number: int
    text: str
    comment: str


def _logical_lines(text: str) -> Iterator[_Line]:
    """Join continued lines and then remove comments, in this order as pip does; yields what is left.

    A comment within a continued requirement therefore hides the lines that are joined to it.
    """
    joined, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        is_comment = raw.lstrip().startswith("#")
        first = first or number
        if raw.endswith("\\") and not is_comment:
            joined += raw.strip("\\")
            continue
        yield from _without_comment(first, joined + (f" {raw}" if is_comment else raw))
        joined, first = "", 0
    yield from _without_comment(first, joined)


def _without_comment(number: int, line: str) -> Iterator[_Line]:
    comment = _COMMENT.search(line)
    content = _COMMENT.sub("", line).strip()
    if content:
        yield _Line(number, content, comment[0].strip(" \t#") if comment else "")


def _line_of(text: str, line: _Line, word: str) -> int:
    """The physical line that has a word of a logical line."""
    lines = text.splitlines()[line.number - 1 :]
    return next((line.number + i for i, raw in enumerate(lines) if word and word in raw), line.number)


def _split(line: str) -> tuple[str, list[str]]:
    """Separate the requirement from the options behind it, as pip does: they begin at the first word with a dash."""
    words = line.split(" ")
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    import shlex

    options = shlex.split(" ".join(words[first:]))
    merged: list[str] = []
    for option in options:  # --hash X is --hash=X
        if merged and merged[-1] == "--hash":
            merged[-1] = f"--hash={option}"
        else:
            merged.append(option)
    return " ".join(words[:first]).strip(), merged


def _not_allowed(option: str) -> str:
    return f"only --hash=sha256:… is allowed here, not {option!r}; indexes and other settings are pip's own"


def _hash(option: str) -> str:
    kind, colon, value = option.removeprefix("--hash=").partition(":")
    if not option.startswith("--hash="):
        raise InputError(_not_allowed(option), hint=option)
    if not colon or kind != "sha256" or not _SHA256.fullmatch(value):
        raise InputError("a hash must be sha256: and 64 lower-case hex digits", hint=option.removeprefix("--hash="))
    return value


def _pin(spec: str, hashes: tuple[str, ...], comment: str) -> Pin:
    plain = _PLAIN.fullmatch(spec)
    if plain is not None:
        return Pin(plain["project"], _release(plain["version"]), _required(hashes))
    direct = _DIRECT.fullmatch(spec)
    if direct is not None:
        return _direct(direct["project"], direct["url"], hashes, comment)
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        found = Requirement(spec)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the requirement must be exact (project==release), not {spec!r}: {reason}") from None
    extras, marker = ",".join(sorted(found.extras)), str(found.marker or "")
    if found.url is not None:
        return _direct(found.name, found.url, hashes, comment)._replace(extras=extras, marker=marker)
    exact = [each for each in found.specifier if each.operator in ("==", "===")]
    if len(found.specifier) != 1 or not exact:
        raise InputError(f"the requirement must be exact (project==release), not {spec!r}")
    return Pin(found.name, _release(exact[0].version), _required(hashes), None, extras, marker)


def _release(version: str) -> Release:
    release = Release.parse(version)
    if release.commit:
        raise InputError(f"{version!r} is not a release")
    return release


def _required(hashes: tuple[str, ...]) -> tuple[str, ...]:
    if not hashes:
        raise InputError("the pin has no hash to verify a download by")
    return hashes


def _direct(project: str, url: str, hashes: tuple[str, ...], comment: str) -> Pin:
    """A direct reference: a repository at a commit, or an artifact by its URL and hash."""
    reference, _, fragment = url.partition("#")
    filename = unquote(urlsplit(reference).path).rpartition("/")[2]
    if not url.startswith(_ARTIFACT_SCHEMES) or not filename.endswith((".whl", ".tar.gz")):
        return _at_commit(project, url, hashes, comment)
    fields = dict(part.partition("=")[::2] for part in fragment.split("&") if part)
    named = tuple(_hash(f"--hash=sha256:{value}") for key, value in fields.items() if key == "sha256")
    listed = tuple(sorted({*named, *hashes}))
    if not listed:
        rule = (
            "a direct reference must be an artifact with #sha256=<64 hex digits>, or git+URL@<40 lower-case hex digits>"
        )
        raise InputError(f"{rule}, not {url!r}")
    if urlsplit(reference).password:
        raise InputError("the URL has a password: leave it to pip's keyring or a netrc file")
    return Pin(project, _release(_version_of(filename)), listed, url=reference)


def _version_of(filename: str) -> str:
    from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

    try:
        parsed = parse_wheel_filename(filename) if filename.endswith(".whl") else parse_sdist_filename(filename)
    except (InvalidSdistFilename, InvalidWheelFilename) as error:
        raise InputError(f"{filename} says no version: {error}") from None
    return str(parsed[1])


def _at_commit(project: str, url: str, hashes: tuple[str, ...], comment: str) -> Pin:
    if hashes:
        raise InputError("a commit has no --hash: its id verifies it", hint="--hash")
    found = _AT_COMMIT.fullmatch(url)
    if found is not None and _HEX64.fullmatch(found["commit"]):
        raise InputError("the commit has an id of SHA-256, and only repositories with SHA-1 objects can be fetched")
    if found is None or not _HEX40.fullmatch(found["commit"]):
        rule = "a direct reference must be a repository at a commit, git+URL@<40 lower-case hex digits>"
        raise InputError(f"{rule}, not {url!r}: `patchtool rebase --to NAME` records the commit of a name")
    git = parse_git_source(found["repository"], found["fragment"] or "")
    name = comment.split(" ")[0].rstrip(",;:")
    return Pin(project, Release.of_commit(found["commit"], name), (), git)


def parse_git_reference(text: str) -> tuple[GitSource, str]:
    """Read ``git+URL@NAME#subdirectory=FOLDER``, as pip takes it, with any name.

    Returns:
        The repository, and the name of a commit; ``HEAD`` where there is none.

    Raises:
        InputError: As `parse_git_source`.
    """
    reference, _, fragment = text.partition("#")
    scheme, _, rest = reference.partition("://")
    host, slash, path = rest.partition("/")
    path, at, name = path.partition("@")
    return parse_git_source(f"{scheme}://{host}{slash}{path}", fragment), name if at and name else "HEAD"


def parse_git_source(url: str, fragment: str = "") -> GitSource:
    """Read ``git+URL`` and the fragment behind it.

    Raises:
        InputError: Another scheme, a password in the URL, or another fragment than ``subdirectory=`` and ``egg=``.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.removeprefix("git+")
    if not url.startswith("git+") or scheme not in GIT_SCHEMES:
        raise InputError(f"{url!r} is not a git repository: git+ and one of {', '.join(GIT_SCHEMES)} begin its URL")
    if parts.password:
        raise InputError("the URL has a password: leave it to git's credential helper")
    fields = dict(part.partition("=")[::2] for part in fragment.split("&") if part)
    subdirectory = fields.pop("subdirectory", "").strip("/")
    fields.pop("egg", None)
    if fields or ".." in subdirectory.split("/"):
        raise InputError(f"the fragment #{fragment} is not #subdirectory=FOLDER")
    return GitSource(url.removeprefix("git+"), subdirectory)
