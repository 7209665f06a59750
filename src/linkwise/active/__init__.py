"""Sessions that ask for pairs.

A ``Session`` chooses questions, keeps the answers in a log and clusters with them. It
has no screen: people, programs and experiments drive the same one.
"""

from linkwise.active._answers import Answer
from linkwise.active._clusterer import ActiveClusterer
from linkwise.active._fitting import FitStopped, Fitting, is_fit_due
from linkwise.active._kinds import Grid, Merge, Prices, Question, Which
from linkwise.active._language_model import LanguageModel
from linkwise.active._log import LogError
from linkwise.active._oracles import OracleError, Truth, run
from linkwise.active._session import Conflict, Session, Told
from linkwise.active._status import Status
from linkwise.active._strategies import STRATEGIES, Strategy, View

__all__ = [
    "STRATEGIES",
    "ActiveClusterer",
    "Answer",
    "Conflict",
    "FitStopped",
    "Fitting",
    "Grid",
    "LanguageModel",
    "LogError",
    "Merge",
    "OracleError",
    "Prices",
    "Question",
    "Session",
    "Status",
    "Strategy",
    "Told",
    "Truth",
    "View",
    "Which",
    "is_fit_due",
    "run",
]
