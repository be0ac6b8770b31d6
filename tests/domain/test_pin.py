"""The pin file: accepted layouts, errors with their line, and the format that is written."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from pip._internal.network.session import PipSession
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import parse_requirements

from patchtool.domain.errors import InputError
from patchtool.domain.pin import Pin, parse_pin
from patchtool.domain.release import Release

COMMIT = "c" * 40
HASH = "a" * 64
OTHER = "b" * 64


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        pytest.param("", 1, "empty", id="empty"),
        pytest.param("# only a comment\n\n", 1, "empty", id="comments-only"),
        pytest.param(f"a==1 --hash=sha256:{HASH}\nb==2 --hash=sha256:{HASH}\n", 2, "exactly one", id="two"),
        pytest.param("sglang==0.5.13\n", 1, "no hash", id="no-hash"),
        pytest.param("sglang==0.5.13 \\\n    --hash=sha256:abc\n", 2, "64", id="short-hash"),
        pytest.param(f"sglang==0.5.13 \\\n    --hash=sha256:{HASH.upper()}\n", 2, "lower-case", id="upper-hash"),
        pytest.param(f"sglang==0.5.13 \\\n    --hash=md5:{HASH}\n", 2, "sha256", id="md5"),
        pytest.param(f"sglang>=0.5.13 --hash=sha256:{HASH}\n", 1, "exact", id="range"),
        pytest.param(f"sglang --hash=sha256:{HASH}\n", 1, "exact", id="no-version"),
        pytest.param(f"sglang==0.5.* --hash=sha256:{HASH}\n", 1, "not a release", id="wildcard"),
        pytest.param(f"sglang==0.5.13 ; python_version=4 --hash=sha256:{HASH}\n", 1, "exact", id="marker"),
        pytest.param(f"sglang==0.5.13,!=1 --hash=sha256:{HASH}\n", 1, "exact", id="two-specifiers"),
        pytest.param(f"sglang==0.5.13 --hash='sha256:{HASH}\n", 1, "cannot be read", id="open-quote"),
        pytest.param(f"sglang==0.5.13 \\\n  # c \\\n  --hash=sha256:{HASH}\n", 3, "exactly one", id="comment-ends-it"),
        pytest.param(f"sglang==0.5.13 # c \\\n  --hash=sha256:{HASH}\n", 1, "no hash", id="hash-in-comment"),
        pytest.param(f"sglang==0.5.13 --hash=sha512:{HASH}{HASH}\n", 1, "sha256", id="sha512"),
        pytest.param("sglang @ git+https://h/x@main\n", 1, "git+URL@<40", id="branch"),
        pytest.param(f"sglang @ git+https://h/x@{COMMIT[:12]}\n", 1, "git+URL@<40", id="short-commit"),
        pytest.param("sglang @ https://h/sglang-1-py3-none-any.whl\n", 1, "git+URL@<40", id="url-of-a-wheel"),
        pytest.param(
            f"sglang @ git+ext::sh@{COMMIT}\n", 1, "is not a git repository", id="transport-that-runs-programs"
        ),
        pytest.param(f"sglang @ git+https://u:secret@h/x@{COMMIT}\n", 1, "credential helper", id="password"),
        pytest.param(f"sglang @ git+https://h/x@{COMMIT}#subdirectory=../x\n", 1, "#subdirectory=", id="outside"),
        pytest.param(
            f"# c\nsglang @ git+https://h/x@{COMMIT} --hash=sha256:{HASH}\n", 2, "its id verifies", id="commit-and-hash"
        ),
        pytest.param(f"sglang==0.5.13 --index-url=x --hash=sha256:{HASH}\n", 1, "only --hash", id="option"),
        pytest.param(f"-r more.txt\nsglang==0.5.13 --hash=sha256:{HASH}\n", 1, "not '-r'", id="option-before"),
        pytest.param(
            f"sglang==0.5.13 --hash=sha256:{HASH}\n--index-url x\n", 2, "not '--index-url'", id="option-after"
        ),
    ],
)
def test_malformed_pin_is_rejected_with_line_and_example(text: str, line: int, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pin(text, "upstream-pin.txt")
    assert caught.value.message.startswith(f"upstream-pin.txt:{line}: ")
    assert rule in caught.value.message
    named = "sglang" if "sglang" in text else "a" if text.startswith("a=") else "package"
    assert f"\n{named}==1.2.3 \\\n" in (caught.value.hint or "")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "distribution"),
    [
        ("", "likely"),
        ("# sglang==0.5.13\n", "likely"),
        ("<<<<<<< HEAD\n", "likely"),
        ("version https://git-lfs.github.com/spec/v1\n", "likely"),
        ("amd-sglang\n", "amd-sglang"),
        ("amd-sglang==0.5.13\n", "amd-sglang"),
        ("amd-sglang>=0.5 --pre\n", "amd-sglang"),
        ("sglang[all] ~= 0.5\n", "sglang"),
        ("sglang @ git+https://h/x@main\n", "sglang"),
        (f"a==1 --hash=sha256:{HASH}\nb==2 --hash=sha256:{HASH}\n", "a"),
        (f"sglang==0.5.13 --hash='sha256:{HASH}\n", "sglang"),
    ],
)
def test_example_names_the_distribution_of_the_file_or_else_the_likely_one(text: str, distribution: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pin(text, "upstream-pin.txt", lambda: "likely")
    assert f"\n{distribution}==1.2.3 \\\n" in (caught.value.hint or "")
    assert f"\n{distribution} @ git+https://HOST/OWNER/{distribution}@" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"sglang==0.5.13 \\\n    --hash=sha256:{HASH} \\\n    --hash=sha256:{OTHER}\n", id="ours"),
        pytest.param(f"sglang==0.5.13 --hash=sha256:{OTHER} --hash=sha256:{HASH}", id="one-line"),
        pytest.param(f"# why\nsglang==0.5.13 \\\r\n  --hash=sha256:{HASH} \\\r\n --hash=sha256:{OTHER}\r\n", id="crlf"),
    ],
)
def test_layouts_of_a_requirements_file_are_accepted(text: str) -> None:
    assert parse_pin(text, "p") == Pin("sglang", Release("0.5.13"), (HASH, OTHER))


ALIKE = {
    "local-version": f"sglang==0.5.13+npu.1 --hash=sha256:{HASH}",
    "nightly": f"sglang==0.5.14.dev1154+g1a2b3c4 \\\n --hash=sha256:{HASH}\n",
    "candidate": f"sglang == 0.5.14rc1 --hash=sha256:{HASH}",
    "other-distribution": f"amd-sglang==0.5.13 --hash=sha256:{HASH}\n",
    "extras-and-marker": f"sglang[srt, all]==0.5.13 ; python_version < '4' \\\n  --hash=sha256:{HASH}\n",
    "marker-of-another-platform": f"sglang==0.5.13; sys_platform == 'plan9' --hash=sha256:{HASH}\n",
    "parentheses": f"sglang (==0.5.13) --hash=sha256:{HASH}\n",
    "arbitrary-equality": f"sglang===0.5.13 --hash=sha256:{HASH}\n",
    "several-hashes": f"sglang==0.5.13 --hash=sha256:{OTHER} \\\n  --hash sha256:{HASH} --hash='sha256:{HASH}'\n",
    "comments": f"# a\n\n  # b \\\nsglang==0.5.13 \\\n  --hash=sha256:{HASH}   # c\n# d\n",
    "hash-that-a-comment-hides": f"sglang==0.5.13 --hash=sha256:{HASH} # c \\\n  --hash=sha256:{OTHER}\n",
    "require-hashes": f"--require-hashes\nsglang==0.5.13 --hash=sha256:{HASH}\n",
    "last-line-continued": f"sglang==0.5.13 --hash=sha256:{HASH} \\",
    "commit": f"sglang @ git+https://github.com/sgl-project/sglang@{COMMIT}#subdirectory=python  # v0.5.14\n",
    "commit-over-ssh": f"sglang[all] @ git+ssh://git@example.org/sglang.git@{COMMIT}#egg=sglang&subdirectory=python\n",
    "commit-with-marker": f"sglang @ git+https://example.org/sglang@{COMMIT} ; python_version >= '3.10'\n",
}


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE)
def test_pin_is_read_as_pip_reads_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "upstream-pin.txt"
    file.write_text(text)
    (parsed,) = parse_requirements(str(file), session=PipSession())
    required = Requirement(parsed.requirement)
    pin = parse_pin(text, "p")
    hashes = (parsed.options or {}).get("hashes", {})
    assert (required.name, required.extras) == (pin.project, set(filter(None, pin.extras.split(","))))
    assert sorted(set(hashes.get("sha256", []))) == list(pin.hashes)
    assert str(required.marker or "") == pin.marker
    if pin.git is None:
        assert required.specifier.contains(pin.release.version, prereleases=True)
    else:
        link = install_req_from_parsed_requirement(parsed).link
        assert link is not None
        assert link.url_without_fragment == f"git+{pin.git.url}@{pin.release.commit}"
        assert (link.subdirectory_fragment or "") == pin.git.subdirectory
    assert parse_pin(pin.format(), "p") == pin


def test_comment_names_the_commit() -> None:
    pin = parse_pin(f"sglang @ git+https://h/x@{COMMIT}#subdirectory=python  # v0.5.14, reviewed\n", "p")
    assert (pin.release.name, pin.release.version, str(pin.release)) == ("v0.5.14", "0.5.14", "v0.5.14@cccccccccc")


@given(
    version=st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(\.post[0-9])?", fullmatch=True),
    hashes=st.sets(st.from_regex(r"[0-9a-f]{64}", fullmatch=True), min_size=1, max_size=9),
)
def test_parse_inverts_format(version: str, hashes: set[str]) -> None:
    pin = Pin("sglang", Release.parse(version), tuple(sorted(hashes)))
    assert parse_pin(pin.format(), "p") == pin


def test_renovate_extractor_matches_the_file() -> None:
    """Its extractor takes each line up to the backslash for a requirement, and hashin rewrites the joined lines.

    Source: Renovate's pip_requirements manager, extract and artifacts.
    """
    text = Pin("sglang", Release("0.5.13"), (HASH, OTHER)).format()
    package = r"[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]"
    first = text.splitlines()[0].split("#")[0].strip().split(";")[0].strip().split(" \\")[0]
    found = re.fullmatch(rf"({package})(==\s*[\w.]+)", first)
    assert found
    assert (found[1], found[2]) == ("sglang", "==0.5.13")
    joined = text.replace("\\\n", "")
    constraint = re.search(r"^\s*(sglang\s*==.*?\S)\s+--hash=", joined, re.MULTILINE)
    assert constraint
    assert constraint[1] == "sglang==0.5.13"
