"""The law of the symmetric shorter queue as a series of product forms."""
