"""Turn frames, identifiers, numbers of any type and scores from callers into checked numbers and labels."""
