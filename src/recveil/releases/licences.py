"""Licences as others spell them: SPDX identifiers, addresses, and the names of Hugging Face and Kaggle."""

from __future__ import annotations

from recveil.errors import RecveilError

# SPDX identifier: name at Hugging Face, name at Kaggle.
LICENCES = {
    "CC0-1.0": ("cc0-1.0", "CC0-1.0"),
    "CC-BY-4.0": ("cc-by-4.0", "CC-BY-4.0"),
    "CC-BY-SA-4.0": ("cc-by-sa-4.0", "CC-BY-SA-4.0"),
    "CC-BY-NC-4.0": ("cc-by-nc-4.0", "CC-BY-NC-4.0"),
    "CC-BY-NC-SA-4.0": ("cc-by-nc-sa-4.0", "CC-BY-NC-SA-4.0"),
    "CC-BY-ND-4.0": ("cc-by-nd-4.0", "CC-BY-ND-4.0"),
    "CC-BY-NC-ND-4.0": ("cc-by-nc-nd-4.0", "CC-BY-NC-ND-4.0"),
    "ODbL-1.0": ("odbl", "ODbL-1.0"),
    "ODC-By-1.0": ("odc-by", "ODC-BY-1.0"),
    "PDDL-1.0": ("pddl", "PDDL"),
}
_SPELT = {name.lower(): name for name in LICENCES}


def licence(text: str) -> str:
    """A licence as the owner names it: the SPDX identifier where we know it, else one line of words or an address."""
    text = text.strip()
    if not text or len(text) > 200 or not text.isprintable():
        raise RecveilError("--licence is an SPDX identifier such as CC-BY-4.0, an address, or a line of words")
    return _SPELT.get(text.lower(), text)


def licence_url(name: str) -> str:
    """Where a licence can be read, if that is known."""
    return f"https://spdx.org/licenses/{name}.html" if name in LICENCES else name
