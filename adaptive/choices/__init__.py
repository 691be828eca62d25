"""Answers of every kind (pairs, grades, best and worst, rankings), of people and judges -> strengths -> next sets."""
