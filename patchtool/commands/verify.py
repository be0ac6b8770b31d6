"""``verify``: whether an export is as it was written, who signed it, and what it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from patchtool.adapters.export_folder import RECORD, SUMS, Signature, damage, read_sums, signature_of
from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.release import Release
from patchtool.domain.report import Report


def verify(folder: Path, allowed_signers: Path | None) -> Report:
    """Check an export's files against its sums, and the signature of those.

    Args:
        folder: What ``export`` wrote.
        allowed_signers: Whose signatures count; without it a signature only shows that one key made it.

    Raises:
        InputError: It is no export.
    """
    sums = read_sums(folder)
    made = _record(folder)
    findings = damage(folder)
    signature = signature_of(folder, allowed_signers)
    if signature is not None and not signature.valid:
        findings.append(f"the signature of {SUMS} is not valid: {signature.detail}")
    if signature is None and allowed_signers is not None:
        findings.append(f"{SUMS} is not signed")
    signed = None if signature is None else signature._asdict() | {"signer": signature.signer or None}
    described = f"{made['project']} {made['release']}, series {made['series']}"
    return Report(
        "verify",
        ExitCode.FINDINGS if findings else ExitCode.OK,
        headline=f"{folder}: {described}, is {'NOT ' if findings else ''}as it was exported",
        notes=_notes(signature, allowed_signers),
        text="".join(f"{finding}\n" for finding in findings),
        extra={
            "release": made["release"],
            "series": made["series"],
            "files": len(sums),
            "signature": signed,
            "findings": findings,
        },
        kind="none",
    )


def _notes(signature: Signature | None, allowed_signers: Path | None) -> tuple[str, ...]:
    if signature is None:
        return ("not signed: the hashes show damage, not who wrote the files",)
    if signature.signer:
        return (f"signed by {signature.signer}",)
    if signature.valid and allowed_signers is None:
        return ("signed by a key that nothing vouches for: --allowed-signers FILE names the keys to trust",)
    return ()


def _record(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / RECORD).read_bytes())
        made = {key: str(document[key]) for key in ("project", "release", "series")}
        Release.parse(made["release"])
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(
            f"{folder / RECORD} does not say what was exported",
            hint="verify takes a folder that patchtool export wrote",
            cause=str(error),
        ) from None
    return made
