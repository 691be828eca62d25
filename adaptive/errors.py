"""Define the errors of plans, draws, votes and files: each is an `AdaptiveError` and therefore a `ValueError`."""


class AdaptiveError(ValueError):
    """Base of every error that adaptive raises on bad input."""


class PlanError(AdaptiveError):
    """Sizes, presentations or a budget that allow no plan."""


class TokenError(AdaptiveError):
    """Tokens that cannot be paired."""


class DrawError(AdaptiveError):
    """Items, presentations or voters that allow no ballot."""


class VoteError(AdaptiveError):
    """Votes that do not answer the ballot."""


class ComparisonError(AdaptiveError):
    """Invalid comparisons: an unknown item or voter, an item against itself, columns of different lengths."""


class ProtocolError(AdaptiveError):
    """A step that the state of the protocol does not allow, or a saved state that does not replay."""


class SimilarityError(AdaptiveError):
    """Similarities or voters that the voter model does not allow."""


class TableError(AdaptiveError):
    """A file with invalid content; the message names file, line and column."""


class ModelError(AdaptiveError):
    """Invalid options of a model of votes, or votes that a model cannot be fitted to."""
