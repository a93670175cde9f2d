"""Utility: what a release is still worth to those who build recommenders on it."""
