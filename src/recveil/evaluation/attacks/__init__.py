"""Attacks: what an adversary learns from a release. They see released rows alone; the truth is for scoring."""
