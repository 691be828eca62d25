"""Turn votes into strengths: comparisons -> likelihood -> fit -> strengths -> their uncertainty."""
