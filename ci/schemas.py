"""Generate the JSON Schemas in patchtool/cli/schemas from patchtool/domain/documents.py; ``--check`` only compares."""

import json
import sys
from pathlib import Path
from typing import Any

from msgspec.json import schema_components

from patchtool.domain.documents import DOCUMENTS

FOLDER = Path(__file__).parents[1] / "patchtool" / "cli" / "schemas"
TITLES = {
    "common": "What the documents of several verbs have in common",
    "error": "What any verb prints with --json when it cannot go on",
}


def schemas() -> dict[str, dict[str, Any]]:
    """Schemas by name: one for each document, and ``common`` with what they refer to."""
    _, components = schema_components(DOCUMENTS, ref_template="common.json#/$defs/{name}")
    for component in components.values():
        component["additionalProperties"] = False
    found = {document.__name__.lower(): components.pop(document.__name__) for document in DOCUMENTS}
    for verb, schema in found.items():
        if verb != "error":
            schema["properties"]["verb"] = {"const": verb}
    return {
        name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"https://patchtool.invalid/schema/1/{name}.json",
            **schema,
            "title": TITLES.get(name, f"patchtool {name} --json"),
        }
        for name, schema in ({"common": {"$defs": components}} | found).items()
    }


def main() -> int:
    stale = []
    for name, schema in schemas().items():
        path, text = FOLDER / f"{name}.json", json.dumps(schema, indent=1, sort_keys=True) + "\n"
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"{', '.join(stale)} in {FOLDER}: not what ci/schemas.py generates; run it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
