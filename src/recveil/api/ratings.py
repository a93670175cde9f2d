"""The Python face of rating prediction."""

from __future__ import annotations

from typing import Any

from recveil.api.keywords import keywords_of
from recveil.evaluation.predict import Predicted, PredictRequest, run_predict


@keywords_of(PredictRequest)
def predict(bundle: str, history: Any, **wishes: Any) -> Predicted:
    """How people would rate items, straight from the tables of a bundle of dp-ratings and their own histories.

    bundle: where the bundle is.
    history: what people rated; anything that `read` takes, with `columns`. It stays with you.
    pairs: users and items to predict, anything that `read` takes; without it the `top` best new items of everybody.

    `.frame()` has user, item and rating.

    >>> recveil.predict("no-such-bundle", "sample:films?users=60,items=60")
    Traceback (most recent call last):
    recveil.errors.RecveilError: no-such-bundle: there is no such directory
    """
    return run_predict(PredictRequest(bundle, history, **wishes))
