# SPDX-License-Identifier: Apache-2.0
"""The schemas of schema/records/, as a check of lines."""
import json
import pathlib

import python

python.needs("jsonschema")
import jsonschema  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent / "schema"


def _resolved(node, common):
    """A copy with each reference replaced by what it names: validators are much faster so."""
    if isinstance(node, list):
        return [_resolved(n, common) for n in node]
    if not isinstance(node, dict):
        return node
    out = {}
    for key, value in node.items():
        if key == "$ref":
            assert value.split("#")[0] in ("common.schema.json", ""), value
            out.update(_resolved(common[value.rsplit("/", 1)[1]], common))
    out.update((k, v if k in ("const", "enum") else _resolved(v, common))
               for k, v in node.items() if k != "$ref")
    return out


def load():
    """{type: schema}, references resolved, each proved to be a schema of 2020-12."""
    texts = {p.name.split(".")[0]: json.loads(p.read_text())
             for p in sorted((ROOT / "records").glob("*.schema.json"))}
    for text in texts.values():
        jsonschema.Draft202012Validator.check_schema(text)
    common = texts.pop("common")["$defs"]
    return {name: _resolved(text, common) for name, text in texts.items()}


class Lines:
    """Checks lines: against the schema of their type, with their keys in the wire's order."""

    def __init__(self):
        self.schemas = load()
        self.validators = {t: jsonschema.Draft202012Validator(s) for t, s in self.schemas.items()}
        self.order = {t: {k: i for i, k in enumerate(s["properties"])}
                      for t, s in self.schemas.items()}
        self.seen = {}

    def wrong(self, line):
        """What is wrong with a line, or None."""
        record = json.loads(line)
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in self.validators:
            return f"no schema for {kind!r}"
        self.seen[kind] = self.seen.get(kind, 0) + 1
        error = next(self.validators[kind].iter_errors(record), None)
        if error:
            return f"{kind}: {'/'.join(map(str, error.absolute_path))}: {error.message}"[:400]
        places = [self.order[kind][key] for key in record]
        if places != sorted(places):
            return f"{kind}: keys out of the wire's order: {list(record)}"
        return None
