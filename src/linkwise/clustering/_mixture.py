"""A mixture on the sphere that learns from rows of which something is known.

Each component is a von Mises-Fisher distribution with the same concentration. Answers
say something of some rows: votes for components, or which rows belong together. Those
rows weigh more than others, so a few answers move their component. Where every answered
component has enough rows, a logistic regression has half of the say.
"""

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.clustering._unit_rows import unit

# Rows added to each component when its share of all rows is taken.
_PRIOR_ROWS = 1.0
# Centres are at rest when none moves by more.
_SETTLED = 1e-3
# Least probability of a component in logarithms of averaged opinions.
_LEAST = 1e-6


class Answers(Protocol):
    """What is known of some rows."""

    @property
    def rows(self) -> IntArray:
        """Positions of these rows, shape (n_known,); each once."""

    def assign(self, log_opinions: FloatArray) -> FloatArray:
        """Return the probability of each component for these rows, (n_known, k).

        ``log_opinions`` are logarithms of what the rows look like by themselves, up to
        a constant in each row.
        """


class Votes(NamedTuple):
    """Votes for and against components, as logarithms of odds."""

    rows: IntArray  # (n_known,)
    log_votes: FloatArray  # (n_known, k)

    def assign(self, log_opinions: FloatArray) -> FloatArray:
        """Return opinions times votes as probabilities."""
        return softmax(log_opinions + self.log_votes)


@dataclass(frozen=True)
class MixtureSettings:
    """Numbers of the mixture; the defaults are those of sessions.

    Attributes
    ----------
    kappa : float
        Concentration of each component.
    weight : float
        Weight of a row that answers put into a component; others weigh 1.
    cap : float
        Mass of the other rows in a component at most: more would swamp its answers.
    n_iter : int
        Steps at most.
    least_rows : int
        Rows of each answered component that logistic regression needs.
    C : float
        Inverse strength of its penalty.
    """

    kappa: float = 30.0
    weight: float = 5.0
    cap: float = 75.0
    n_iter: int = 10
    least_rows: int = 3
    C: float = 10.0


SETTINGS = MixtureSettings()


class Logistic(NamedTuple):
    """Logistic regression over some of the components."""

    components: IntArray  # (c,), ascending
    coefficients: FloatArray  # (d, c), float32
    intercepts: FloatArray  # (c,), float32

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Return the probability of each of its components, (n_rows, c)."""
        return softmax(rows @ self.coefficients + self.intercepts)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture; made by :func:`fit_mixture`.

    Attributes
    ----------
    centres : ndarray of shape (k, d), float32
        Directions of length 1; of length 0 where a component has no row.
    log_priors : ndarray of shape (k,), float32
        Logarithms of the shares of the rows.
    kappa : float
        Concentration of the components.
    logistic : Logistic or None
        Second opinion on the components that it knows.
    """

    centres: FloatArray
    log_priors: FloatArray
    kappa: float
    logistic: Logistic | None = None

    def log_opinions(self, rows: FloatArray) -> FloatArray:
        """Return how rows look, logarithms up to a constant, (n_rows, k), float32."""
        if self.logistic is None:
            return self._by_centres(rows)
        return np.log(np.maximum(self.posterior(rows), np.float32(_LEAST)))

    def posterior(self, rows: FloatArray) -> FloatArray:
        """Return the probability of each component for each row, (n_rows, k).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, d), float32
            Rows of length 1.
        """
        found = softmax(self._by_centres(rows))
        if self.logistic is None:
            return found
        # Components without answers keep their share.
        known = self.logistic.components
        own = found[:, known]
        learnt = self.logistic.probabilities(rows) * own.sum(axis=1, keepdims=True)
        found[:, known] = np.float32(0.5) * (own + learnt)
        return found

    def _by_centres(self, rows: FloatArray) -> FloatArray:
        products = rows @ (np.float32(self.kappa) * self.centres).T
        products += self.log_priors
        return products


def fit_mixture(
    rows: FloatArray,
    start: FloatArray,
    answers: Answers | None = None,
    *,
    is_sure: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
    settings: MixtureSettings = SETTINGS,
) -> Mixture:
    """Fit a mixture by expectation and maximisation.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, d), float32
        Rows of length 1, as :class:`UnitRows` makes them.
    start : ndarray of shape (k, d)
        Centres to start from: those of the last fit, or of :func:`directions_of`.
        Components without answers are allowed.
    answers : Answers, optional
        What is known of some rows.
    is_sure : ndarray of bool, shape (n_known,), optional
        Which of these rows weigh ``settings.weight``. Default: all. A row of which only
        is known where it does not belong should not.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each row.
    settings : MixtureSettings
        Numbers of the mixture.

    Returns
    -------
    Mixture
        Without logistic regression, see :func:`with_logistic`.

    Examples
    --------
    Two rows point up, two to the right; of the last one a person says "up":

    >>> import numpy as np
    >>> rows = np.array([[0, 1], [0.1, 1], [1, 0], [1, 0.1]], dtype=np.float32)
    >>> start = np.eye(2, dtype=np.float32)[::-1]
    >>> says = Votes(np.array([3]), np.array([[20.0, -20.0]]))
    >>> fit_mixture(rows, start).posterior(rows)[:, 0].round(2).tolist()
    [1.0, 1.0, 0.0, 0.0]
    >>> print(fit_mixture(rows, start, says).centres.round(1))
    [[0.9 0.4]
     [1.  0. ]]
    """
    k = len(start)
    priors = np.full(k, -np.log(k), np.float32)
    found = Mixture(np.asarray(start, np.float32), priors, settings.kappa)
    for _ in range(settings.n_iter):
        last, found = (
            found,
            _step(found, rows, answers, is_sure, sample_weight, settings),
        )
        if np.abs(found.centres - last.centres).max() < _SETTLED:
            break
    return found


def _step(
    mixture: Mixture,
    rows: FloatArray,
    answers: Answers | None,
    is_sure: BoolArray | None,
    sample_weight: FloatArray | None,
    settings: MixtureSettings,
) -> Mixture:
    """Return the mixture after one step."""
    opinions = mixture._by_centres(rows)
    known = np.empty(0, np.intp) if answers is None else answers.rows
    assigned = None
    if answers is not None and len(known):
        assigned = answers.assign(opinions[known]).astype(np.float32)
    chances = softmax(opinions, out=opinions)
    if assigned is not None:
        chances[known] = assigned
    if sample_weight is not None:
        chances *= sample_weight.astype(np.float32)[:, None]
    mass = chances.sum(axis=0)
    sums = chances.T @ rows
    if assigned is not None:
        own = chances[known]
        boost = np.full(len(known), settings.weight, np.float32)
        if is_sure is not None:
            boost = np.where(is_sure, boost, np.float32(1.0))
        # What others add to a component is scaled down to the cap.
        others = mass - own.sum(axis=0)
        scale = np.minimum(1.0, settings.cap / np.maximum(others, _LEAST))
        weighted = boost[:, None] - scale[None].astype(np.float32)
        sums = scale[:, None] * sums + (own * weighted).T @ rows[known]
    priors = (mass + _PRIOR_ROWS) / (mass + _PRIOR_ROWS).sum()
    return replace(
        mixture,
        centres=unit(sums.astype(np.float32)),
        log_priors=np.log(priors).astype(np.float32),
    )


def with_logistic(
    mixture: Mixture,
    rows: FloatArray,
    components: IntArray,
    *,
    sample_weight: FloatArray | None = None,
    settings: MixtureSettings = SETTINGS,
) -> Mixture:
    """Return the mixture with logistic regression, where enough is known for it.

    Parameters
    ----------
    mixture : Mixture
        The mixture.
    rows : ndarray of shape (n_known, d), float32
        Rows of which the component is known.
    components : ndarray of int, shape (n_known,)
        Their components.
    sample_weight : ndarray of shape (n_known,), optional
        Multiplicity of each of them.
    settings : MixtureSettings
        Numbers of the regression.

    Returns
    -------
    Mixture
        As it was if fewer than two components are known, or one by too few rows.
    """
    known, sizes = np.unique(components, return_counts=True)
    if len(known) < 2 or sizes.min() < settings.least_rows:
        return mixture
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=settings.C, max_iter=200, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are of no interest
        model.fit(rows.astype(np.float64), components, sample_weight)
    coefficients, intercepts = model.coef_, model.intercept_
    if len(known) == 2:
        # One column tells two components apart.
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    logistic = Logistic(
        known.astype(np.intp),
        coefficients.T.astype(np.float32),
        intercepts.astype(np.float32),
    )
    return replace(mixture, logistic=logistic)


def directions_of(
    rows: FloatArray,
    labels: IntArray,
    n_components: int,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the directions of groups of rows, (n_components, d), float32.

    Rows with the label -1 are in no group; a group without rows has length 0.
    """
    inside = np.flatnonzero(labels >= 0)
    weight = np.ones(len(labels)) if sample_weight is None else sample_weight
    chances = np.zeros((len(inside), n_components), np.float32)
    chances[np.arange(len(inside)), labels[inside]] = weight[inside]
    return unit(chances.T @ rows[inside])


def softmax(values: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the exponentials of each row, scaled to sum 1."""
    out = np.subtract(values, values.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out
