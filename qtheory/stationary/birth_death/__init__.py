"""Birth-death chains on the naturals: laws in closed form."""
