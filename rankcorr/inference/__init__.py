"""Statistical inference for coefficients: chance level, tests, intervals, and the comparison of systems.

Rankings are resampled in blocks, the coefficient is computed for each resample, and p-values and intervals are taken
from the resulting distribution.
"""
