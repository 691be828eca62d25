"""Turn comparisons into strengths: likelihood -> fit -> strengths -> their uncertainty."""
