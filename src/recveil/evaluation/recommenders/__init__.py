"""The referees: recommenders that judge what a release is still worth. A new one is a class and a line here.

Their hyper-parameters were tuned once, on validation data of MovieLens 100K, and never on a release
(docs/explanation/referees.md).
"""

from __future__ import annotations

from recveil.evaluation.recommenders.ease import EASE
from recveil.evaluation.recommenders.factors import BPR, WRMF
from recveil.evaluation.recommenders.neighbours import ItemKNN, UserKNN
from recveil.evaluation.recommenders.neural import GRU4Rec, SASRec
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.evaluation.recommenders.ranker import Model, Ranker, recommend
from recveil.evaluation.recommenders.rater import Average, Predictor, Rater, Surprise
from recveil.evaluation.recommenders.residuals import Neighbours
from recveil.evaluation.recommenders.sequential import Markov, NextPopular, Sequencer, SessionKNN

RANKERS: dict[str, Ranker] = {
    r.name: r
    for r in (
        MostPopular(),
        ItemKNN(),
        UserKNN(),
        BPR(),
        WRMF(),
        EASE(),
    )
}

RATERS: dict[str, Rater] = {
    r.name: r
    for r in (
        Average("item"),
        Average("user"),
        Neighbours("item"),
        Neighbours("user"),
        Surprise("slope-one", "SlopeOne"),
        Surprise("co-clustering", "CoClustering", {"n_cltr_u": 3, "n_cltr_i": 2, "n_epochs": 40}),
        Surprise("mf", "SVD", {"n_factors": 100, "n_epochs": 60, "lr_all": 0.005, "reg_all": 0.1, "biased": False}),
        Surprise("biased-mf", "SVD", {"n_factors": 100, "n_epochs": 30, "lr_all": 0.01, "reg_all": 0.1}),
        Surprise("svd++", "SVDpp", {"n_factors": 20, "n_epochs": 40, "reg_all": 0.1}),
    )
}

SEQUENCERS: dict[str, Sequencer] = {r.name: r for r in (NextPopular(), Markov(), SessionKNN(), SASRec(), GRU4Rec())}

__all__ = ["RANKERS", "RATERS", "SEQUENCERS", "Model", "Predictor", "Ranker", "Rater", "recommend"]
