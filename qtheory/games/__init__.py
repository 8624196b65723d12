"""Games with closed-form payoffs: best replies, equilibria, regimes, thresholds, welfare, gaps.

All answers at a rational parameter point are exact (rational or real algebraic numbers); for all
parameters they are formulas on regimes that `qtheory.inequality.prove` shows to be right.
"""

from qtheory.games.best_reply import Reply, best_reply
from qtheory.games.equilibria import Equilibria, EquilibriumSet, equilibria
from qtheory.games.finite import Bimatrix, FiniteEquilibria, bimatrix
from qtheory.games.gap import Gap, gap
from qtheory.games.payoff import Player
from qtheory.games.regimes import Claim, Regime, Regimes, no_point
from qtheory.games.reply_regimes import reply_regimes
from qtheory.games.segment import Segment, segment
from qtheory.games.threshold import Joining, joining_equilibria, joining_regimes
from qtheory.games.welfare import Anarchy, price_formula, price_of_anarchy

__all__ = [
    "Anarchy",
    "Bimatrix",
    "Claim",
    "Equilibria",
    "EquilibriumSet",
    "FiniteEquilibria",
    "Gap",
    "Joining",
    "Player",
    "Regime",
    "Regimes",
    "Reply",
    "Segment",
    "best_reply",
    "bimatrix",
    "equilibria",
    "gap",
    "joining_equilibria",
    "joining_regimes",
    "no_point",
    "price_formula",
    "price_of_anarchy",
    "reply_regimes",
    "segment",
]
