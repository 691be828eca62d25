"""A protocol whose votes arrive over days: the state machine, its ballot boxes and its JSON."""

from adaptive.session.ballot_protocol import BallotProtocol, ProtocolStatus

__all__ = ["BallotProtocol", "ProtocolStatus"]
