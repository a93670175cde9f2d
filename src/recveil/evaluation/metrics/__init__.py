"""Utility: what a release is still worth to those who build recommenders on it.

A metric that does not apply to a trial (no ratings, no test people, no owners) raises SkippedError, which says why.
"""
