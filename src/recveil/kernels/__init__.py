"""Kernels: arrays in, arrays out. A kernel is loaded, and numba with it, when its name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.kernels import (
        baskets as baskets,
    )
    from recveil.kernels import (
        bits as bits,
    )
    from recveil.kernels import (
        bpr as bpr,
    )
    from recveil.kernels import (
        bprfm as bprfm,
    )
    from recveil.kernels import (
        chacha as chacha,
    )
    from recveil.kernels import (
        clicks as clicks,
    )
    from recveil.kernels import (
        discrete as discrete,
    )
    from recveil.kernels import (
        distinct as distinct,
    )
    from recveil.kernels import (
        draws as draws,
    )
    from recveil.kernels import (
        flips as flips,
    )
    from recveil.kernels import (
        folkrank as folkrank,
    )
    from recveil.kernels import (
        item_cosines as item_cosines,
    )
    from recveil.kernels import (
        linkage as linkage,
    )
    from recveil.kernels import (
        logistic as logistic,
    )
    from recveil.kernels import (
        mdav as mdav,
    )
    from recveil.kernels import (
        membership as membership,
    )
    from recveil.kernels import (
        mixtures as mixtures,
    )
    from recveil.kernels import (
        neighbourhoods as neighbourhoods,
    )
    from recveil.kernels import (
        pair_tables as pair_tables,
    )
    from recveil.kernels import (
        popcount as popcount,
    )
    from recveil.kernels import (
        ranking as ranking,
    )
    from recveil.kernels import (
        rating_counts as rating_counts,
    )
    from recveil.kernels import (
        rating_draws as rating_draws,
    )
    from recveil.kernels import (
        rating_levels as rating_levels,
    )
    from recveil.kernels import (
        record_search as record_search,
    )
    from recveil.kernels import (
        relevance as relevance,
    )
    from recveil.kernels import (
        residuals as residuals,
    )
    from recveil.kernels import (
        sessions as sessions,
    )
    from recveil.kernels import (
        shuffles as shuffles,
    )
    from recveil.kernels import (
        swaps as swaps,
    )
    from recveil.kernels import (
        sybil as sybil,
    )
    from recveil.kernels import (
        topics as topics,
    )
    from recveil.kernels import (
        walks as walks,
    )


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return import_module(f"recveil.kernels.{name}")
    except ModuleNotFoundError:
        raise AttributeError(name) from None
