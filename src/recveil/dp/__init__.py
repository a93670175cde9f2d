"""Noise with a proof: exact draws, budgets, and what lies behind a noisy table."""
