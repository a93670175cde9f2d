"""Releases over time under one budget: windows of a growing log, and one promise for a whole period."""
