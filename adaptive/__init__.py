"""Gold rankings from pairwise votes, most precise at the top (Lombardo et al. 2020).

tokens -> pairs -> plan -> ballot -> votes -> scores -> selection -> the next ballot -> `ProtocolResult`

- tokens: `read_tokens`, `pair_tokens`
- plan: `plan_ballots`, `plan_for_budget`, `plan_for_top`
- one ballot: `draw_ballot`, or `draw_sets` for best-worst answers; `borda_scores`, `rescale`, `select_top`
- the whole protocol: `run_protocol` with a function that votes, `score_ballots` for all votes so far at once, and a
  campaign of `adaptive.ledger.Ledger` for votes that arrive over days
- votes from any source: `Comparisons`, `read_comparisons`
- strengths of the items: `bradley_terry`, `thurstone`, `borda`, `rank_centrality`; of graded and best-worst answers
  and of whole rankings: `Choices`, read by `read_choices`
- the next comparisons: `next_comparisons`, or `next_sets` for best-worst answers; `run_matching` collects all votes
  this way, `run_matched_ballots` with fixed ballots, and `stopping_rule` decides when to stop
- uncertainty: `Strengths.rank_intervals`, `in_top`, `cut`, `expected_correlation`
- voters: `voter_report`, `influence`; `reliability` of all votes
- program judges: `prediction_powered` with votes of people, `judge_agreement`, `side_biases`, `merge_swapped`
- systems against the ranking: `score_system`, `score_leaderboard`
- before paying: `simulate` and `simulate_curve` with voters from a `VoterPopulation`; `tune_plan`, `votes_needed`
- errors: all are subclasses of `AdaptiveError`, except for `TableError`, which is that of rankcorr
"""

from adaptive._budget import plan_for_budget, plan_for_top
from adaptive._draw import Ballot, BallotCertificate, draw_assignment, draw_ballot, draw_sets
from adaptive._plan import Advice, BallotPlan, plan_ballots
from adaptive._protocol import BallotVotes, InterimResult, run_protocol, score_ballots
from adaptive._record import BallotRecord, ProtocolResult
from adaptive._scores import Selection, borda_scores, rescale, running_mean, select_by_mean, select_top
from adaptive._token_pairs import FewRareTokensWarning, Pairing, Token, pair_tokens, read_tokens
from adaptive._tuning.candidates import Candidate, candidates_for
from adaptive._tuning.tune import TunedPlan, tune_plan
from adaptive._tuning.votes_needed import VotesNeeded, votes_needed
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED, Vote
from adaptive.choices._answers import ChoiceAnswers
from adaptive.choices._choices import Choices
from adaptive.choices._files import read_choices
from adaptive.choices._judges import Agreement, JudgeAgreement, SideBias, judge_agreement, merge_swapped, side_biases
from adaptive.choices._prediction import PredictionPoweredStrengths, prediction_powered
from adaptive.choices._sets import next_sets
from adaptive.choices._strengths import ChoiceStrengths
from adaptive.comparisons._comparisons import Comparisons, read_comparisons
from adaptive.errors import (
    AdaptiveError,
    ComparisonError,
    DrawError,
    ModelError,
    NumberedItemsWarning,
    PlanError,
    ProtocolError,
    SimilarityError,
    TokenError,
    VoteError,
)
from adaptive.matching._matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.matching._matching import Matches, Matching, next_comparisons
from adaptive.matching._rounds import run_matching
from adaptive.matching._stopping import StopDecision, StoppingRule, TopStoppingRule, stopping_rule
from adaptive.model._accuracy import Better, Cut, ExpectedCorrelation, RankIntervals, TopProbabilities
from adaptive.model._likelihood import VoteModel
from adaptive.model._models import bradley_terry, thurstone
from adaptive.model._prior import Prior
from adaptive.model._reliability import Reliability, reliability
from adaptive.model._scoring import (
    BordaScores,
    CentralityScores,
    ScoredLeaderboard,
    SystemScore,
    borda,
    rank_centrality,
    score_leaderboard,
    score_system,
)
from adaptive.model._strengths import Strengths
from adaptive.model._voters import Influence, VoterReport, influence, voter_report
from adaptive.simulation._population import PopulationFit, fit_population
from adaptive.simulation._similarity import (
    embedding_similarity,
    exponential_similarity,
    power_law_similarity,
    read_similarities,
)
from adaptive.simulation._simulate import AccuracyCurve, SimulationResult, simulate, simulate_curve
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr.errors import TableError

# Read by rankcorr._cli.launch: other projects have a package of this name.
__distribution__ = "rankcorr-adaptive"

# In the order of the description above.
__all__ = ["FewRareTokensWarning", "Pairing", "Token", "pair_tokens", "read_tokens"]
__all__ += ["Advice", "BallotPlan", "plan_ballots", "plan_for_budget", "plan_for_top"]
__all__ += ["LEFT", "RIGHT", "TIE", "UNANSWERED", "Ballot", "BallotCertificate", "Vote"]
__all__ += ["draw_assignment", "draw_ballot", "draw_sets"]
__all__ += ["Selection", "borda_scores", "rescale", "running_mean", "select_by_mean", "select_top"]
__all__ += ["BallotRecord", "BallotVotes", "InterimResult", "ProtocolResult", "run_protocol", "score_ballots"]
__all__ += ["BordaScores", "Comparisons", "Prior", "Strengths", "VoteModel"]
__all__ += ["ChoiceAnswers", "ChoiceStrengths", "Choices", "read_choices"]
__all__ += ["PredictionPoweredStrengths", "prediction_powered"]
__all__ += ["CentralityScores", "borda", "bradley_terry", "rank_centrality", "read_comparisons", "thurstone"]
__all__ += ["MatchedBallots", "Matches", "Matching", "next_comparisons", "next_sets"]
__all__ += ["run_matched_ballots", "run_matching"]
__all__ += ["StopDecision", "StoppingRule", "TopStoppingRule", "stopping_rule"]
__all__ += ["Better", "Cut", "ExpectedCorrelation", "RankIntervals", "TopProbabilities"]
__all__ += ["Influence", "VoterReport", "influence", "voter_report"]
__all__ += ["Reliability", "reliability"]
__all__ += ["Agreement", "JudgeAgreement", "SideBias", "judge_agreement", "merge_swapped", "side_biases"]
__all__ += ["ScoredLeaderboard", "SystemScore", "score_leaderboard", "score_system"]
__all__ += ["PopulationFit", "VoterPool", "VoterPopulation", "fit_population", "true_ranking"]
__all__ += ["embedding_similarity", "exponential_similarity", "power_law_similarity", "read_similarities"]
__all__ += ["AccuracyCurve", "SimulationResult", "simulate", "simulate_curve"]
__all__ += ["Candidate", "TunedPlan", "VotesNeeded", "candidates_for", "tune_plan", "votes_needed"]
__all__ += ["AdaptiveError", "ComparisonError", "DrawError", "ModelError", "PlanError", "ProtocolError"]
__all__ += ["NumberedItemsWarning", "SimilarityError", "TableError", "TokenError", "VoteError"]
