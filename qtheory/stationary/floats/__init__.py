"""Laws in floating point, with estimated errors, and deep digits refined from them."""
