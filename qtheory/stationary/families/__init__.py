"""Laws of a family of finite chains, for every size at once."""
