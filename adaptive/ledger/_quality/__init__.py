"""Assess how far the votes of each voter, and of all voters together, can be trusted.

agreement (all answers in flat columns, and agreement between voters) -> flags -> report.
"""
