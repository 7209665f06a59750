"""Questions about groups, and clusters that follow every answer."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, cached_property
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import ThreadpoolController

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.active._chooser import Choice, Chooser, neighbours
from linkwise.active._features import are_embeddings, compared
from linkwise.active._fitter import Fitter
from linkwise.active._kinds import Grid, Merge, Prices, Which
from linkwise.active._log import digest_of
from linkwise.active._opinions import (
    Ballot,
    MixtureOpinions,
    Opinion,
    Opinions,
    ballot_of,
)
from linkwise.active._pair_votes import with_pairs
from linkwise.active._record import Record
from linkwise.active._start import Start, n_start_clusters
from linkwise.active._state import State
from linkwise.active._table_opinions import TableOpinions
from linkwise.clustering import UnitRows
from linkwise.clustering._unit_rows import unit
from linkwise.doors import is_several

# Rows that questions are about, and by which clusters are learnt, at the most.
_WORKING_ROWS = 4_000
# Starts of k-means for the start clusters.
_N_INIT = 3
# Answers from which on the time that a kind takes is a person's own.
_N_MEASURED = 20


@cache
def _controller() -> ThreadpoolController:
    """Return what knows the libraries of this process: looking for them is slow."""
    return ThreadpoolController()


def one_thread() -> Any:
    """Let numpy use one thread in a block: sums are the same bit for bit."""
    return _controller().limit(limits=1)


class Working(NamedTuple):
    """The rows that questions are about, in the order of their places."""

    rows: IntArray
    place_of: dict[int, int]
    is_askable: BoolArray
    points: FloatArray  # as they are compared
    near: Any
    start: Start


class Moment(NamedTuple):
    """What is thought after the last answer."""

    opinions: Opinions
    ballot: Ballot
    opinion: Opinion


@dataclass
class GroupAsker:
    """Asks which groups rows belong to; makes clusters of the answers."""

    record: Record
    fitter: Fitter
    kinds: Collection[str]
    seed: int
    has_checks: bool = True
    prices: Prices | None = None  # None: as measured
    _seen: tuple[Any, Moment] | None = field(default=None, init=False)
    _labels: tuple[Any, IntArray] | None = field(default=None, init=False)

    # What stays

    @cached_property
    def points(self) -> FloatArray:
        """All rows as they are compared: of length 1 for embeddings and texts."""
        if not self.are_texts:
            return np.asarray(self.fitter.features, dtype=np.float32)
        with one_thread():
            parts = [self._part(view) for view in self._views]
        return parts[0] if len(parts) == 1 else unit(np.hstack(parts))

    @property
    def _views(self) -> list[Any]:
        X = self.fitter.X
        views = X if is_several(X) else [X]
        return [v.to_numpy() if hasattr(v, "to_numpy") else v for v in views]

    @cached_property
    def are_texts(self) -> bool:
        """Whether rows are compared by their directions, as texts are."""
        return any(map(_is_text, self._views))

    def _part(self, view: Any) -> FloatArray:
        """Return unit rows of a view; columns of a table count as one such view."""
        if not _is_text(view):
            view = compared(view)
        sample = view
        if view.shape[0] > _WORKING_ROWS:
            sample = view[np.sort(self._chosen())]
        return UnitRows.fit(sample)(view)

    def _chosen(self) -> IntArray:
        """Return working rows: askable ones first, in their random order."""
        n_most = _WORKING_ROWS
        askable = self.fitter.rows[:n_most]
        n, n_left = len(self.fitter.features), n_most - len(askable)
        others = np.setdiff1d(np.arange(n), self.fitter.rows)
        if len(others) > n_left:
            rng = np.random.default_rng(self.seed)
            others = rng.choice(others, n_left, replace=False)
        return np.concatenate([askable, others])

    @cached_property
    def working(self) -> Working:
        """The rows that questions are about, found once."""
        from sklearn.cluster import KMeans

        rows = np.sort(self._chosen())
        points = self.points[rows]
        is_askable = np.isin(rows, self.fitter.rows)
        k = n_start_clusters(len(rows), self.fitter.n_clusters)
        with one_thread():
            model = KMeans(k, n_init=_N_INIT, random_state=self.seed).fit(points)
            near = neighbours(points)
        _, labels = np.unique(model.labels_, return_inverse=True)
        place_of = {int(row): at for at, row in enumerate(rows)}
        start = Start(points, labels, is_askable)
        return Working(rows, place_of, is_askable, points, near, start)

    def begin(self) -> None:
        """Write down the start clusters of these rows, unless the log has them."""
        start, last = self.working.start, None
        for event in reversed(self.record.events):
            if event["event"] in ("start", "rows", "session"):
                last = event
                break
        if last is not None and last["event"] == "start":
            if last["clusters"] == start.n:
                return
        first = self.record.state.next_id
        cluster = next(at for at in start.order if start.central[at])
        row = int(self.working.rows[start.central[cluster][0]])
        self.record.do(
            event="start",
            first=first,
            clusters=start.n,
            row=self.record.name(row),
            to=first + cluster,
        )

    # What follows answers

    def moment(self, state: State) -> Moment:
        """Return what is thought now, found once for each revision of the state."""
        is_now = state is self.record.state
        if not self.are_texts:  # the committee of an earlier run is not in the log
            self.fitter.catch_up()
        key = (self.record.revision, id(self.fitter.last_committee))
        if is_now and self._seen is not None and self._seen[0] == key:
            return self._seen[1]
        working = self.working
        votes = with_pairs(state)
        with one_thread():
            ballot = ballot_of(votes, working.place_of, len(working.rows))
            opinions = self._opinions(state)
            moment = Moment(opinions, ballot, opinions.opinion(ballot))
        if is_now:
            self._seen = key, moment
        return moment

    def _opinions(self, state: State) -> Opinions:
        assert state.start is not None
        working, first = self.working, state.start[0]
        if self.are_texts:
            everything = None if len(working.rows) == len(self.points) else self.points
            return MixtureOpinions(
                working.points,
                working.start,
                first,
                self.fitter.n_clusters,
                everything,
                None if everything is None else working.rows,
            )
        return TableOpinions(
            working.points,
            working.start,
            first,
            self.fitter.n_clusters,
            self.fitter.last_committee,
            working.rows,
            self.points,
        )

    def labels(self) -> IntArray:
        """Return the cluster of each row now."""
        key = (self.record.revision, id(self.fitter.last_committee))
        if self._labels is None or self._labels[0] != key:
            moment = self.moment(self.record.state)
            with one_thread():
                found = moment.opinions.labels(moment.ballot)
            votes = with_pairs(self.record.state)
            for row in votes.of:
                home = votes.home(row)
                if home is not None and row not in self.working.place_of:
                    found[row] = home
            found.flags.writeable = False
            self._labels = key, found
        return self._labels[1]

    def labels_at(self, n_events: int) -> IntArray:
        """Return the cluster of each row after so many events."""
        moment = self.moment(self.record.state_at(n_events))
        with one_thread():
            return moment.opinions.labels(moment.ballot)

    def doubt(self) -> FloatArray:
        """Return how doubtful the cluster of each working row is, NaN for others."""
        found = np.full(len(self.points), np.nan)
        found[self.working.rows] = 1.0 - self.moment(self.record.state).opinion.p.max(1)
        return found

    # Questions

    def select(self, n: int) -> list[Any]:
        """Return up to n questions about different rows."""
        return self._select(self.record.state, len(self.record.events), n)

    def _select(self, state: State, n_events: int, n: int) -> list[Any]:
        moment, working = self.moment(state), self.working
        taken: set[int] = set()
        found: list[Any] = []
        compared: set[tuple[int, ...]] = set()
        for _ in range(n):
            chooser = Chooser(
                working.place_of,
                working.is_askable,
                working.near,
                working.start,
                moment.opinion,
                state.votes,
                self.fitter.n_clusters,
                self.prices or measured_prices(state),
                self.kinds,
                np.random.default_rng([self.seed, state.votes.n_questions, len(taken)]),
                self.has_checks,
                taken,
            )
            choice = chooser.choose()
            if choice is None or (choice.kind == "merge" and choice.groups in compared):
                break
            compared.add(choice.groups)
            taken |= {choice.row, *choice.rows} - {-1}
            found.append(self._question(state, n_events, chooser, choice))
        return found

    def _question(
        self, state: State, n_events: int, chooser: Chooser, choice: Choice
    ) -> Any:
        opinion, rows = chooser.opinion, self.working.rows
        shown = [*choice.groups] or chooser.order_of(choice.row)
        but = {choice.row, *choice.rows}
        by = [rows[chooser.examples(at, but)].tolist() for at in shown]
        # A group all of whose rows may not be asked about cannot be shown.
        shown = [at for at, own in zip(shown, by, strict=True) if own]
        by = [own for own in by if own]
        ids = [opinion.groups[at] for at in shown]
        asked = rows[[*choice.rows] or [choice.row]].tolist()
        name = f"{n_events}:{choice.kind}:{self._digest(asked + sum(by, []))}"
        if choice.kind == "merge":
            return Merge(by[0], by[1], name, (ids[0], ids[1]))
        if choice.kind == "grid":
            p = opinion.p[list(choice.rows), shown[0]]
            shares = tuple(round(float(share), 4) for share in p)
            return Grid(by[0], asked, name, ids[0], choice.purpose, shares)
        p_first = round(float(opinion.p[choice.row, shown[0]]), 4)
        guess = opinion.groups[int(opinion.p[choice.row].argmax())]
        return Which(asked[0], by, name, ids, choice.purpose, p_first, guess)

    def _digest(self, rows: list[int]) -> str:
        """Return a few letters by which other rows in the same places are known."""
        return digest_of([self.record.naming.mark(row) for row in rows])[:12]

    def recall(self, name: str) -> Any:
        """Return the question of an id: it was asked when there were so many events."""
        try:
            n_events = int(name.split(":")[0])
        except ValueError:
            raise ValueError(f"question={name!r} is no id of a question.") from None
        if not 1 <= n_events <= len(self.record.events):
            raise ValueError(f"question={name!r} is no id of a question.")
        is_now = n_events == len(self.record.events)
        state = self.record.state if is_now else self.record.state_at(n_events)
        for found in self._select(state, n_events, 1) if state.start else ():
            if found.id == name:
                return found
        raise LookupError(f"question={name!r}: the rows have changed.")


def _is_text(view: Any) -> bool:
    return issparse(view) or are_embeddings(view)


def is_about_groups(name: str) -> bool:
    """Tell whether an id is that of a question about groups."""
    return name.split(":")[1:2] in (["which"], ["grid"], ["merge"])


def measured_prices(state: State) -> Prices:
    """Return what questions cost a person, by the medians of enough answers."""
    own = {
        _PRICE_OF[kind]: max(_LEAST_SECONDS, median(times))
        for kind, times in state.seconds.items()
        if len(times) >= _N_MEASURED
    }
    return Prices(**own)


# Programs answer at once, but no question is free.
_LEAST_SECONDS = 0.5
_PRICE_OF = {"which": "which", "grid": "grid", "groups": "merge", "pair": "pair"}
