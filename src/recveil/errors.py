"""The one exception a user of recveil is meant to see: a clear line about the input or the request."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

NO_MEMORY = "there is not enough memory for it"


class RecveilError(ValueError):
    """The input or the request is wrong. The message is one line that says what, where and which rule."""


def unknown(what: str, name: str, known: Iterable[str]) -> RecveilError:
    """An error for a name that is not in a catalogue, with the nearest ones."""
    known = sorted(known)
    near = get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
    return RecveilError(f"unknown {what} {name!r}; {hint}")


# What to install for a module that is not there.
EXTRAS = {
    "duckdb": ("duckdb",),
    "files": ("fastexcel",),
    "judge": ("onnxruntime",),
    "lake": ("deltalake", "pyiceberg"),
    "measure": ("altair", "cornac", "implicit", "jinja2", "joblib", "surprise", "threadpoolctl", "vl_convert"),
    "neural": ("torch",),
    "serve": ("alembic", "fastapi", "psycopg", "sqlalchemy", "uvicorn"),
    "sign": ("cryptography", "securesystemslib"),
    "spark": ("pyspark",),
    "tags": ("tomotopy",),
    "token": ("pkcs11",),
}


def not_installed(missing: ModuleNotFoundError) -> str:
    """Which extra brings a module that is not there; raises again what no extra brings."""
    module = (missing.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    if extra is None:
        raise missing
    return f"{module} is not installed; pip install 'recveil[{extra}]'"
