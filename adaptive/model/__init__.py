"""Turn votes into strengths: comparisons -> scores or strengths -> ranking -> next comparisons."""
