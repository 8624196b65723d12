"""The front door: what `from qtheory import ...` gives."""

import pytest

import qtheory


def test_every_name_can_be_imported():
    for name in qtheory.__all__:
        assert callable(getattr(qtheory, name)), name


def test_the_entry_to_stationary_laws_is_callable_whatever_was_imported_before():
    import importlib

    importlib.import_module("qtheory.stationary.exact.solve")
    from qtheory import stationary

    assert stationary([[-1, 1], [2, -2]]).at({})


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'Modell'"):
        qtheory.Modell  # noqa: B018
