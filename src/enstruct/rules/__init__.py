"""What a person knows of outputs beside the data: rules that bind every answer, or weigh it (:mod:`enstruct.rules.labels`)."""

from enstruct.data.hierarchy import Hierarchy as Hierarchy
from enstruct.rules.labels import AtLeast as AtLeast
from enstruct.rules.labels import AtMost as AtMost
from enstruct.rules.labels import Exactly as Exactly
from enstruct.rules.labels import Excludes as Excludes
from enstruct.rules.labels import Forbids as Forbids
from enstruct.rules.labels import Implies as Implies
from enstruct.rules.labels import Not as Not
from enstruct.rules.labels import Requires as Requires
from enstruct.rules.labels import predicate as predicate
from enstruct.rules.soft import Soft as Soft
from enstruct.rules.system import RuleSystem as RuleSystem
from enstruct.rules.text import parse_rule as parse_rule
from enstruct.rules.text import read_rules as read_rules
