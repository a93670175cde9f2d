"""A noisy choice: the candidate with the largest score plus exact noise, and nothing else of the scores.

docs/guarantees/choosing.md has the theorem. Scores are integers; one person more raises each of them by 0 to `most`
and lowers none.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from recveil.dp.noise import draw, laplace
from recveil.randomness import Source


def noisy_choice(scores: Mapping[str, int], most: int, epsilon: float, source: Source) -> str:
    """The name that wins; of equal ones the first. The noise of a candidate belongs to its name, not to its place."""
    law = laplace(most / Fraction(str(epsilon)))
    noisy = {name: score + int(draw(law, 1, source.derive(name))[0]) for name, score in scores.items()}
    return max(noisy, key=noisy.__getitem__)
