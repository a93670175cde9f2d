"""Long work beside the server, in a thread that lets others run often."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")
USUAL_TURN, TURN = sys.getswitchinterval(), 0.0005  # seconds for which a thread keeps others from running


async def aside(work: Callable[..., Result], *given: Any) -> Result:
    """Its result, from a thread that nobody waits for at the end: a model may take minutes, and can be cut short.

    A click passes from thread to thread and waits for its turn each time, so turns are short meanwhile.
    """
    done: Future[Result] = Future()
    done.set_running_or_notify_cancel()  # nobody can call it off, so it can always be told

    def run() -> None:
        sys.setswitchinterval(TURN)
        try:
            done.set_result(work(*given))
        except Exception as error:
            done.set_exception(error)
        finally:
            sys.setswitchinterval(USUAL_TURN)

    Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
