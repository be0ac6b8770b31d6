"""The whole round on a real package of another project: nothing of the tool is about one upstream."""

import subprocess
import sys
from pathlib import Path

import pytest

import patchtool
from tests.commands.humanize import FILESIZE, NUMBER, PATCHES, VERSIONS, Humanize, snapshot, states_of
from tests.commands.small_git import GitUpstream
from tests.commands.trees import git
from tests.conftest import WheelsOf


@pytest.fixture
def humanize(tmp_path: Path, wheels_of: WheelsOf, capsys: pytest.CaptureFixture[str]) -> Humanize:
    return Humanize(tmp_path, wheels_of("humanize", VERSIONS), capsys)


@pytest.fixture
def pinned(humanize: Humanize) -> Humanize:
    humanize.run("rebase", "--to", "4.9.0")
    humanize.add_patches()
    return humanize


def test_first_pin_is_written_by_rebase(humanize: Humanize) -> None:
    missing = humanize.run("status", code=2)
    assert "upstream-pin.txt does not exist" in missing.err
    assert "patchtool rebase --to" in missing.err
    humanize.run("rebase", "--to", "v4.9.0")
    pin = (humanize.project / "upstream-pin.txt").read_text()
    assert pin.startswith("humanize==4.9.0 \\\n    --hash=sha256:")
    assert not (humanize.project / "CHANGELOG.md").exists()
    assert humanize.run("status").code == 0


def test_first_pin_needs_the_distribution(humanize: Humanize) -> None:
    (humanize.project / "patchtool.toml").unlink()
    assert "distribution" in humanize.run("rebase", "--to", "4.9.0", code=2).err


def test_series_is_applied_to_an_output(pinned: Humanize) -> None:
    assert pinned.states("status") == states_of(("applied", "applied"))
    output = pinned.folder / "out"
    pinned.run("apply", "--output", str(output))
    assert "max(0, precision" in (output / NUMBER).read_text()
    assert git(output, "log", "--format=%s").splitlines()[-2:][0] in {title for title, _, _ in PATCHES.values()}


def test_installed_environment_is_patched_and_restored(pinned: Humanize) -> None:
    site = pinned.install("4.9.0")
    before = snapshot(site)
    pinned.run("apply", "--tree", str(site))
    assert pinned.states("status", "--tree", str(site)) == states_of(("applied", "applied"))
    assert "max(0, precision" in (site / "humanize/number.py").read_text()
    record = (site / "humanize-4.9.0.dist-info/RECORD").read_text()
    assert record != before[str(site / "humanize-4.9.0.dist-info/RECORD")].decode()
    probe = "import humanize; print(humanize.metric(123, precision=1), humanize.naturalsize(2048))"
    ran = subprocess.run([sys.executable, "-c", probe], env={"PYTHONPATH": str(site)}, capture_output=True, check=True)
    assert ran.stdout.split() == [b"123", b"2.0", b"kB"]
    pinned.run("unapply", "--tree", str(site))
    after = snapshot(site)
    assert {path: data for path, data in after.items() if "/.patchtool/" not in path and ".pyc" not in path} == before


def test_clone_is_patched_on_a_branch_and_restored(pinned: Humanize) -> None:
    upstream = GitUpstream(pinned.folder / "upstream.git", package="src/humanize")
    for version in VERSIONS[:2]:
        upstream.commit(pinned.files(version), version, tag=version)
    clone = pinned.folder / "clone"
    git(pinned.folder, "clone", "-q", upstream.url, str(clone))
    git(clone, "checkout", "-q", "4.9.0")
    assert pinned.states("status", "--tree", str(clone)) == states_of(("not-applied", "not-applied"))
    applied = pinned.run("apply", "--tree", str(clone))
    assert "v4.9.0" in applied.out
    assert git(clone, "log", "-2", "--format=%s").splitlines() == [title for title, _, _ in PATCHES.values()][::-1]
    moved = pinned.run("rebase", "--tree", str(clone), "--to", "4.10.0")
    assert "patchtool/v4.10.0" in moved.out
    assert git(clone, "log", "-1", "--format=%s", "patchtool/v4.10.0") == PATCHES["jedec_sizes"][0]
    pinned.run("unapply", "--tree", str(clone))
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "rev-parse", "HEAD") == git(clone, "rev-parse", "4.9.0^{commit}")


def test_rebase_finds_what_upstream_fixed(pinned: Humanize) -> None:
    pinned.run("refresh")
    moved = pinned.run("rebase", "--to", "4.10.0")
    assert pinned.states("status") == states_of(("landed", "applied"))
    assert "humanize" in (pinned.project / "CHANGELOG.md").read_text(), moved.out
    assert pinned.states("status", "--on", "4.12.3") == states_of(("landed", "applied"))


def test_survey_has_every_release(pinned: Humanize) -> None:
    survey = pinned.run("survey", *(f"v{version}" for version in VERSIONS), code=None)
    rows = [line.split() for line in survey.out.splitlines() if line.startswith("v4")]
    assert rows == [
        ["v4.9.0", "applied", "applied"],
        ["v4.10.0", "landed", "applied"],
        ["v4.11.0", "landed", "applied"],
        ["v4.12.3", "landed", "applied"],
    ]


def test_exports_are_in_the_layout_of_the_package(pinned: Humanize) -> None:
    out = pinned.folder / "exported"
    pinned.run("export", "quilt", "wheel", "--output", str(out))
    patches = "".join(path.read_text() for path in sorted((out / "quilt").rglob("*.patch")))
    assert f"+++ b/{NUMBER}" in patches
    assert f"+++ b/{FILESIZE}" in patches
    (wheel,) = (out / "wheel").glob("humanize-4.9.0+*.whl")
    site = pinned.folder / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)],
        check=True,
    )
    assert "max(0, precision" in (site / "humanize/number.py").read_text()


def test_git_upstream_has_the_same_states(pinned: Humanize) -> None:
    upstream = GitUpstream(pinned.folder / "upstream.git", package="src/humanize")
    commits = [upstream.commit(pinned.files(version), version, tag=version) for version in VERSIONS]
    digests = pinned.run("diff").out
    pinned.run("rebase", "--to", f"git+{upstream.url}@4.9.0")
    pin = (pinned.project / "upstream-pin.txt").read_text()
    assert pin == f"humanize @ git+{upstream.url}@{commits[0]}  # 4.9.0\n"
    assert pinned.run("diff").out == digests
    pinned.run("rebase", "--to", "4.12.3")
    assert pinned.states("status") == states_of(("landed", "applied"))


def test_a_draft_is_in_the_layout_of_the_project(pinned: Humanize) -> None:
    before = pinned.files("4.9.0")[NUMBER] or ""
    site = pinned.install("4.9.0")
    git(site, "init", "-q")
    git(site, "add", ".")
    (site / "humanize/number.py").write_text(before.replace("scientific(value, precision - 1)", "scientific(value)"))
    diff = pinned.folder / "my.patch"
    diff.write_text(git(site, "diff") + "\n")
    pinned.run("new", "mine", "--from", str(diff))
    assert f'targets = ["{NUMBER}"]' in (pinned.project / "patches/mine/patch.toml").read_text()
    assert pinned.states("status")["mine"] == "applied"


def test_projects_share_a_store(pinned: Humanize) -> None:
    """The same release of another distribution, and of the same one in another layout, are others."""
    assert pinned.states("status") == states_of(("applied", "applied"))
    (pinned.project / "patchtool.toml").write_text('[upstream]\nlayout = "lib"\n')
    for name in PATCHES:
        file = pinned.project / "patches" / name / "patch.toml"
        file.write_text(file.read_text().replace("src/", "lib/"))
    assert pinned.states("status") == states_of(("applied", "applied"))
    assert "+++ b/lib/humanize/number.py" in pinned.run("diff").out


def test_only_what_runs_upstream_knows_its_name() -> None:
    """The emulation and the tier that serves models are about SGLang; the rest of the tool is not."""
    package = Path(patchtool.__file__).parent
    about = ("emulation", "matrix/npu", "matrix/planning/served_models.py", "_project")
    files = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
    naming = {name for name, text in files.items() if "sglang" in text.lower() and not name.startswith(about)}
    assert naming == {"__init__.py"}  # the name that the tool itself is published under
