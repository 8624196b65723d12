"""Exact and certified theory for queues with strategic agents."""
