"""Fit strengths to pairs, grades, best-worst answers and rankings, of people and judges, and choose the next sets."""
