"""Exact laws and hitting quantities of finite chains over QQ(parameters)."""
