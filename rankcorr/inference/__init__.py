"""Uncertainty of a coefficient: chance level, tests, intervals, and the comparison of systems.

Two rankings -> resampled rankings, in blocks -> the coefficient of each -> a distribution -> figures derived from it.
"""
