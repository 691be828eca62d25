"""Draws from the joint posterior of the strengths: shared opinions -> normal or chains -> draws."""
