"""Growth of queues that learn, against an independent simulation of the same table.

Three queues of rate (5/9)/c, servers of rates 1, 1/3, 1/3, from empty queues, 30000 steps: the
growth of the mean number of packets per step over the second half. c is the factor by which the
rates could be raised with central scheduling. Below 2 - 1/3 queues without regret may grow, above
they cannot. The other table had 64 replications; z is the difference in standard errors.

python -m benchmarks.learning_table           all of it (minutes)
python -m benchmarks.learning_table 256 Exp3  replications, one rule
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from qtheory.learning import UCB1, AgeGreedy, Exp3, Exp3P1, Mixed, Uniform, simulate

MU = (Fraction(1), Fraction(1, 3), Fraction(1, 3))
STEPS = 30_000
RULES = {
    "all to 1": Mixed((1, 0, 0)),
    "uniform": Uniform(),
    "Exp3": Exp3(),
    "Exp3.P.1": Exp3P1(0.05),
    "UCB1": UCB1(),
    "age-greedy": AgeGreedy(),
}
# growths with the half-widths of 95 % intervals; those printed as 0 or .0001 are rounded
ROUNDED = 0.0002
KNOWN: dict[str, list[tuple[float, float]]] = {
    "1.05": [
        (0.5874, 0.0012),
        (0.4160, 0.0021),
        (0.5527, 0.0027),
        (0.3452, 0.0020),
        (0.4572, 0.0032),
        (-0.0001, 0.0002),
    ],
    "1.25": [
        (0.3345, 0.0014),
        (0.1630, 0.0022),
        (0.2978, 0.0030),
        (0.0908, 0.0021),
        (0.2030, 0.0032),
        (0, ROUNDED),
    ],
    "1.50": [
        (0.1117, 0.0014),
        (0.0001, 0.0002),
        (0.0754, 0.0036),
        (0.0000, 0.0001),
        (0.0027, 0.0012),
        (0, ROUNDED),
    ],
    "1.60": [
        (0.0420, 0.0014),
        (0.0001, ROUNDED),
        (0.0135, 0.0027),
        (0, ROUNDED),
        (0.0004, 0.0002),
        (0, ROUNDED),
    ],
    "1.75": [
        (-0.0001, 0.0002),
        (0.0001, ROUNDED),
        (0.0001, 0.0002),
        (0, ROUNDED),
        (0.0001, ROUNDED),
        (0, ROUNDED),
    ],
    "2.10": [
        (0, ROUNDED),
        (0.0001, ROUNDED),
        (0, ROUNDED),
        (0, ROUNDED),
        (0, ROUNDED),
        (0, ROUNDED),
    ],
}


def exact_growth(rule: str, lam: Fraction) -> Fraction | None:
    """The growth where it is known: 3 lambda - 1 and 3 lambda - 95/81, or 0 if that is negative."""
    served = {"all to 1": Fraction(1), "uniform": Fraction(95, 81)}.get(rule)
    return None if served is None else max(3 * lam - served, Fraction(0))


def main(replications: int = 256, wanted: str | None = None) -> float:
    """Print the table, and return the largest |z|."""
    worst = 0.0
    print(f"{'c':>5} {'rule':<11} {'growth':>18} {'known':>18} {'z':>6} {'exact':>8} {'z':>6}")
    for c, row in KNOWN.items():
        lam = Fraction(5, 9) / Fraction(c)
        for (name, rule), (value, width) in zip(RULES.items(), row, strict=True):
            if wanted not in (None, name):
                continue
            run = simulate([lam] * 3, MU, rule, STEPS, replications, seed=123)
            found = run.growth
            error = 0.0 if math.isnan(found.standard_error) else found.standard_error
            z = (found.mean - value) / math.hypot(error, width / 1.96)
            worst = max(worst, abs(z))
            line = f"{c:>5} {name:<11} {found.mean:8.4f} ± {1.96 * error:.4f} "
            line += f"{value:10.4f} ± {width:.4f} {z:6.2f}"
            exact = exact_growth(name, lam)
            if exact is not None and error:
                line += f" {float(exact):8.4f} {found.z(exact):6.2f}"
            print(line, flush=True)
    print(f"largest |z| {worst:.2f}")
    return worst


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:1]), *given[1:])
