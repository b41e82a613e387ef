"""The part of SARIF 2.1.0 that gradscope writes, as a JSON schema: nothing else may stand there.

Names, required members, and what the standard allows as values are those of its sections 3.13
to 3.58. `tests/sweeps/sarif.py` checks real reports against the standard's own schema.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 1}
INDEX: Schema = {"type": "integer", "minimum": 0}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}


def members(required: dict[str, Schema], **optional: Schema) -> Schema:
    """An object with these members and no other."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **optional},
    }


def several(items: Schema) -> Schema:
    return {"type": "array", "items": items}


MESSAGE = members({"text": TEXT})
REGION = members({"startLine": NUMBER}, startColumn=NUMBER, endLine=NUMBER, endColumn=NUMBER)
ARTIFACT = members({"uri": {"type": "string", "format": "uri-reference"}}, uriBaseId=TEXT)
LOCATION = members(
    {"physicalLocation": members({"artifactLocation": ARTIFACT}, region=REGION)},
    id=INDEX,
    message=MESSAGE,
    logicalLocations=several(members({"name": TEXT}, kind=TEXT)),
)
REPLACEMENT = members({"deletedRegion": REGION}, insertedContent=MESSAGE)
CHANGE = members({"artifactLocation": ARTIFACT, "replacements": several(REPLACEMENT) | {"minItems": 1}})
RESULT = members(
    {"message": MESSAGE},
    ruleId=TEXT,
    ruleIndex=INDEX,
    level=LEVEL,
    occurrenceCount=NUMBER,
    locations=several(LOCATION),
    relatedLocations=several(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    fixes=several(members({"artifactChanges": several(CHANGE) | {"minItems": 1}}, description=MESSAGE)),
)
RULE = members(
    {"id": TEXT},
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=members({}, level=LEVEL, enabled={"type": "boolean"}),
)
INVOCATION = members(
    {"executionSuccessful": {"type": "boolean"}},
    toolExecutionNotifications=several(members({"message": MESSAGE}, level=LEVEL)),
)
RUN = members(
    {"tool": members({"driver": members({"name": TEXT}, version=TEXT, rules=several(RULE))})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=several(INVOCATION),
    results=several(RESULT),
)
LOG: Schema = members({"version": {"const": "2.1.0"}, "runs": several(RUN)}, **{"$schema": TEXT})
