"""The language that a page is asked for in."""

from __future__ import annotations

from fastapi import Request

from recveil.web.messages import LANGUAGES, chosen


def language_of(request: Request) -> str:
    """As asked for in the address, else as chosen before, else as the browser prefers."""
    for wanted in (request.query_params.get("lang"), request.cookies.get("desk_lang")):
        if wanted in LANGUAGES:
            return str(wanted)
    return chosen(request.headers.get("accept-language"))
