"""One line a request on standard error, as text or as JSON. Neither names a token, an item, a query or an address."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

REQUEST = "%s %s %d %.1f ms"  # method, route, status, milliseconds


class JsonLines(logging.Formatter):
    """A JSON document for each record; those of requests have their parts as fields."""

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
        }
        if record.msg == REQUEST and isinstance(record.args, tuple):
            method, route, status, took = record.args
            found |= {"method": method, "route": route, "status": status, "ms": round(float(str(took)), 1)}
        else:
            found["message"] = record.getMessage()
        return json.dumps(found)


def to_standard_error(as_json: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
