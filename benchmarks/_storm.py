"""Storm as a peer: the long-run share of one set of states, from a model in PRISM's language."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any


def long_run(text: str, states: str, parametric: bool = False) -> Callable[[], Any]:
    """Model checking of the built model; reading and building it are not part of the work."""
    import stormpy

    # the parser reads files only
    with tempfile.NamedTemporaryFile("w", suffix=".prism") as file:
        file.write(text)
        file.flush()
        program = stormpy.parse_prism_program(file.name)
    asked = stormpy.parse_properties(f"LRA=? [ {states} ]", program)
    build = stormpy.build_model[stormpy.RationalFunction] if parametric else stormpy.build_model
    model = build(program, asked)
    return lambda: stormpy.model_checking(model, asked[0])
