"""Reproduce Table 2 and the figures of Lombardo et al. 2020. Only the commands import this package."""
