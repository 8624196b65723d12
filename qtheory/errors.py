"""The errors of the library, one class for each kind of bad input.

Every message is one line that says which condition failed and with which values.
"""


class QTheoryError(ValueError):
    """Base class: input for which no number and no verdict exists."""


class ExpressionError(QTheoryError):
    """A text or an expression that is not a formula of the library's grammar."""


class DomainError(QTheoryError):
    """A parameter point outside a domain, an unknown parameter or an empty domain."""


class UnstableError(DomainError):
    """Parameters for which no stationary distribution exists."""


class ModelError(QTheoryError):
    """A model that describes no Markov chain on its lattice."""


class NonConservativeError(QTheoryError):
    """A matrix whose rows do not sum to zero (rates) or to one (probabilities)."""


class ReducibleError(QTheoryError):
    """A chain with several closed classes, or none that holds every state."""


class CertificateError(QTheoryError):
    """A certificate that does not prove what it states."""
