"""Errors of plans, draws, votes and files: each is an `AdaptiveError`, and so a `ValueError`."""


class AdaptiveError(ValueError):
    """Base of every error that adaptive raises on bad input."""


class PlanError(AdaptiveError):
    """Sizes, presentations or a budget from which no plan can be made."""


class TokenError(AdaptiveError):
    """Tokens that cannot be paired."""


class DrawError(AdaptiveError):
    """Items, presentations or voters for which no ballot can be drawn."""


class VoteError(AdaptiveError):
    """Votes that do not answer the ballot."""


class ComparisonError(AdaptiveError):
    """Comparisons that cannot be: an unknown item or voter, an item against itself, columns of several lengths."""


class ProtocolError(AdaptiveError):
    """A step that the state of the protocol does not allow, or a saved state that does not replay."""


class SimilarityError(AdaptiveError):
    """Similarities or voters that the voter model does not allow."""


class TableError(AdaptiveError):
    """A file that does not hold what was wanted; the message names file, line and column."""
