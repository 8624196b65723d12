"""Joining games drawn at random: stable, R >= C/mu, with and without a smart stream."""

from fractions import Fraction

from hypothesis import strategies as st

from qtheory.systems.dedicated_streams.joining_game import joining_game

parts = st.integers(1, 20)
games = st.builds(
    lambda own, smart, spare, R, C: joining_game(
        Fraction(own, 10), Fraction(smart - 1, 10), Fraction(own + smart + spare, 10), R, C
    ),
    parts,
    parts,
    parts,
    st.fractions(40, 60, max_denominator=9),
    st.fractions(1, 5, max_denominator=9),
)
