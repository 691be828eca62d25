"""Draws from the joint posterior of the strengths: shared opinions -> normal draws -> chains."""
