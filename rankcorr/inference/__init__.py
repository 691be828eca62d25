"""How far a coefficient can be trusted: chance level, tests, intervals, and the comparison of systems.

Two rankings -> resampled rankings, in blocks -> the coefficient of each -> a distribution -> what is read from it.
"""
