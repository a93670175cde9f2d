"""croissant.json: a bundle described in Croissant 1.1, with its parts for responsible use (RAI) and origin (PROV).

Everything in it follows from the manifest: no look at any data. What a guarantee and an attack are has no words in
Croissant; ours stand under the prefix `rv` (docs/reference/vocabulary.md). Attacks are named, never their figures.
"""

from __future__ import annotations

from typing import Any

from recveil.formats.writing import INTER
from recveil.releases.licences import licence_url

CROISSANT = "croissant.json"
VOCABULARY = "urn:recveil:vocabulary:"
ENCODINGS = {
    "parquet": "application/x-parquet",
    "csv": "text/csv",
    "inter": "text/tab-separated-values",
    "itemsets": "text/plain",
}
ABOUT = {
    "user": "A random token for a person, made for this release.",
    "session": "A random token for a session, made for this release.",
    "item": "The item, by its original id.",
    "title": "The public name of the item.",
    "tag": "A tag that a person gave to the item.",
    "rating": "The rating of the item.",
    "time": "When it happened.",
    "order": "The place in the order of events: 1, 2, 3, ...",
    "count": "How many rows the noisy tables lead one to expect.",
}
_TERMS = (
    "citeAs column containedIn equivalentProperty extract field fileProperty fileObject fileSet format includes "
    "isArray arrayShape isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)


def croissant(manifest: dict[str, Any]) -> dict[str, Any]:
    """The description of a bundle from its manifest, whose `files` are those written so far."""
    promise = manifest["guarantee"]
    name = f"recveil-{manifest['mechanism']}-{manifest['kind']}"
    found: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": name,
        "description": f"{manifest['rows']} rows of {manifest['kind']}, released by {manifest['spec']}. "
        f"{promise['sentence']}",
        "keywords": ["recommender systems", "privacy", manifest["kind"], manifest["mechanism"]],
        "isLiveDataset": False,
        "distribution": _distribution(manifest),
        "recordSet": _records(manifest),
        **_responsible(manifest),
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "sc:name": manifest["spec"],
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "sc:name": f"recveil {manifest['recveil']}"},
        },
        "prov:wasDerivedFrom": {"@type": "prov:Entity", "sc:name": f"{manifest['kind']} kept by their owner"},
        "rv:mechanism": manifest["spec"],
        "rv:seeded": manifest["seeded"],
        "rv:guarantee": {
            "@type": "rv:Guarantee", **{f"rv:{key}": value for key, value in promise.items() if value is not None},
        },
    }  # fmt: skip
    if manifest.get("licence"):
        found["license"] = licence_url(manifest["licence"])
    return found


def _context() -> dict[str, Any]:
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "prov": "http://www.w3.org/ns/prov#",
        "rv": VOCABULARY,
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "description": {"@container": "@language"},
        "name": {"@container": "@language"},
        **{term: f"cr:{term}" for term in _TERMS.split()},
    }


def _responsible(manifest: dict[str, Any]) -> dict[str, Any]:
    promise = manifest["guarantee"]
    limits = ["It is not promised that the data fit any purpose, nor anything beyond what rv:guarantee says."]
    if promise["given"]:
        limits.append(f"Taken to be public: {promise['given']}.")
    if manifest["seeded"]:
        limits.append("Made with a fixed seed, for an experiment: not for publication.")
    return {
        "rai:dataCollection": f"{manifest['kind'].capitalize()} of real people, which their owner keeps.",
        "rai:dataPreprocessingProtocol": [f"Released by {manifest['spec']}.", "User ids became random tokens."],
        "rai:personalSensitiveInformation": [promise["sentence"]],
        "rai:dataLimitations": limits,
        "rai:dataUseCases": ["Building and comparing recommenders."],
    }


def _distribution(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Each file with its hash; the parts of one table are a set as well, by which its records are found."""
    files = []
    for entry in manifest["files"]:
        form = entry["name"].rpartition(".")[2]
        if form not in ENCODINGS:
            continue
        files.append(
            {
                "@type": "cr:FileObject", "@id": entry["name"], "name": entry["name"], "contentUrl": entry["name"],
                "contentSize": f"{entry['bytes']} B", "encodingFormat": ENCODINGS[form], "sha256": entry["sha256"],
            }
        )  # fmt: skip
    if in_parts(manifest):
        parts = {"@type": "cr:FileSet", "@id": "parts", "name": "parts", "includes": "data/*.parquet"}
        files.append({**parts, "encodingFormat": ENCODINGS["parquet"]})
    return files


def _records(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of the data and of the tables; itemsets are lines for people, not columns."""
    data = next(entry["name"] for entry in manifest["files"] if entry["name"].startswith("data"))
    sources = []
    if not data.endswith(".itemsets"):
        place = {"fileSet": {"@id": "parts"}} if in_parts(manifest) else {"fileObject": {"@id": data}}
        sources.append((manifest["kind"], place, manifest["schema"], data.endswith(".inter")))
    for table in manifest.get("tables", ()):
        sources.append(  # noqa: PERF401
            (table["name"], {"fileObject": {"@id": f"tables/{table['name']}.parquet"}}, table["schema"], False)
        )
    if titles := manifest.get("titles"):
        sources.append(("titles", {"fileObject": {"@id": "items.parquet"}}, titles, False))
    return [
        {
            "@type": "cr:RecordSet", "@id": name, "name": name,
            "field": [_field(name, place, column, inter) for column in schema],
        }
        for name, place, schema, inter in sources
    ]  # fmt: skip


def _field(record: str, place: dict[str, Any], column: dict[str, str], inter: bool) -> dict[str, Any]:
    name = column["name"]
    kind = "Integer" if "Int" in column["type"] else "Float" if "Float" in column["type"] else "Text"
    return {
        "@type": "cr:Field", "@id": f"{record}/{name}", "name": name, "description": ABOUT.get(name, name),
        "dataType": f"sc:{kind}", "source": {**place, "extract": {"column": INTER[name] if inter else name}},
    }  # fmt: skip


def in_parts(manifest: dict[str, Any]) -> bool:
    """Whether the data are many files, as Spark writes them."""
    return any(entry["name"].startswith("data/") for entry in manifest["files"])
