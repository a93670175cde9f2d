"""Clicks: what each one gives its person (commonality), and what it gives away (disclosure)."""
