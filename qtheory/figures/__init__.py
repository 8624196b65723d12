"""Figures of the systems, one module for each; they stand on the engines and on `qtheory.show`."""
