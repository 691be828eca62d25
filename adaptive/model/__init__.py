"""From votes to strengths: comparisons -> scores or strengths -> ranking -> whom to compare next."""
