"""Learning from a few labelled sequences, many unlabelled ones, and what a person can say about them in rules.

rewards       a reward of a whole output, as rules with weights; what a batch knows of it
citations     rules and expectations for bibliographic references
search        a better output near a given one, by the reward alone
expectations  generalised expectation criteria: how often a tag goes with a feature
"""

from enstruct.weak_supervision.rewards import Reward as Reward
from enstruct.weak_supervision.rewards import Rule as Rule
from enstruct.weak_supervision.rewards import RuleReward as RuleReward
