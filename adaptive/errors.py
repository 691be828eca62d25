"""What can be wrong with a plan, a draw, votes or a file; every error is an `AdaptiveError`, and so a `ValueError`."""


class AdaptiveError(ValueError):
    """Base of every error that adaptive raises on bad input."""


class PlanError(AdaptiveError):
    """Sizes, presentations or a budget that make no plan."""


class TokenError(AdaptiveError):
    """Tokens that cannot be paired."""


class DrawError(AdaptiveError):
    """Items, presentations or voters of which no ballot can be drawn."""


class VoteError(AdaptiveError):
    """Votes that do not answer the ballot."""


class ProtocolError(AdaptiveError):
    """A step that the state of the protocol does not allow, or a saved state that does not replay."""


class SimilarityError(AdaptiveError):
    """Similarities or voters that the voter model does not admit."""


class TableError(AdaptiveError):
    """A file that does not hold what was wanted; the message names file, line and column."""
