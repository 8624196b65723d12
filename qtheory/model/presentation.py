"""Models as tables: aligned text for terminals, LaTeX for notebooks and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from qtheory.model.guards import guard_relations

if TYPE_CHECKING:
    from qtheory.model.model import Model


def text_table(model: Model) -> str:
    """One line for each transition: target, rate, guard."""
    state = ", ".join(map(str, model.state))
    title = f"{model.name or 'Model'}: ({state}), {model.time} time"
    kind = "rate" if model.time == "continuous" else "probability"
    rows = []
    for transition, guard in zip(model.transitions, model.guards, strict=True):
        target = ", ".join(
            str(x + step) for x, step in zip(model.state, transition.jump, strict=True)
        )
        conditions = [
            f"{r.lhs} {'=' if r.rel_op == '==' else r.rel_op} {r.rhs}"
            for r in guard_relations(guard, model.ranges, model.state)
        ]
        when = f"when {', '.join(conditions)}" if conditions else ""
        rows.append((f"to ({target})", f"{kind} {transition.rate}", when))
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [f"  {to:<{first}}  {rate:<{second}}  {when}".rstrip() for to, rate, when in rows]
    return "\n".join([title, *lines])


def latex_table(model: Model) -> str:
    """An array with one row for each transition: guard, target, rate."""
    kind = "rate" if model.time == "continuous" else "probability"
    state = sp.latex(tuple(model.state)) if len(model.state) > 1 else sp.latex(model.state[0])
    rows = [rf"\text{{from }} {state} & \text{{to}} & \text{{{kind}}} \\ \hline"]
    for transition, guard in zip(model.transitions, model.guards, strict=True):
        target = [x + step for x, step in zip(model.state, transition.jump, strict=True)]
        conditions = [
            sp.latex(relation) for relation in guard_relations(guard, model.ranges, model.state)
        ]
        rows.append(
            " & ".join(
                (
                    r",\ ".join(conditions) or r"\text{any}",
                    sp.latex(tuple(target) if len(target) > 1 else target[0]),
                    sp.latex(transition.rate),
                )
            )
            + r" \\"
        )
    return "\n".join([r"\begin{array}{lll}", *rows, r"\end{array}"])
