"""The parts of `qtheory.model.simulate`: steps, clocks, estimates and the result."""
