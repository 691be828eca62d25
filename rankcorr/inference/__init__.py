"""What a coefficient is worth: chance level, tests, intervals, and the comparison of systems.

Two rankings -> resampled rankings, in blocks -> the coefficient of each -> a distribution -> what is read from it.
"""
