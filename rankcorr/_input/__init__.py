"""What callers pass becomes checked numbers and labels: frames, identifiers, numbers of any type, scores."""
