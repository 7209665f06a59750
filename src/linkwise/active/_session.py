"""A session: it asks about pairs, learns from answers and says when it is enough."""

import os
from collections.abc import Container, Sequence
from contextlib import AbstractContextManager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from linkwise._typing import FloatArray, IntArray
from linkwise.active._answers import Answer
from linkwise.active._asking import Asker, is_open, strategy_of
from linkwise.active._committee import last_step
from linkwise.active._corrections import Clusters, Pairs
from linkwise.active._features import as_features, compared, side_by_side
from linkwise.active._fitter import Fitter
from linkwise.active._fitting import Fitting
from linkwise.active._group_answers import GroupDesk
from linkwise.active._group_asker import is_about_groups, measured_prices
from linkwise.active._history import history_of
from linkwise.active._kinds import Grid, Merge, Prices, Question, Which, kinds_of
from linkwise.active._log import Log, LogError
from linkwise.active._naming import Naming
from linkwise.active._people import Agreement, agreement_of, answers_of
from linkwise.active._record import Record
from linkwise.active._state import MEANING, REMOVED, WORDS, State, pair
from linkwise.active._status import Status, status_of
from linkwise.constraints import Constraints


class Conflict(NamedTuple):
    """An answer that contradicts what follows from others."""

    id: int
    i: int
    j: int
    answer: str
    chain: list[Answer]  # the fewest answers from which the opposite follows


class Told(NamedTuple):
    """What became of an answer."""

    is_stored: bool
    n_implied: int = 0  # pairs that follow now and did not before
    conflict: Conflict | None = None
    event: int = -1  # the number of its event


class Session:
    """Asks about pairs of rows, keeps the answers and clusters with them.

    Parameters
    ----------
    X : array, sparse matrix, data frame or list of views
        The rows. A data frame may have columns of any kind.
    estimator : estimator
        Clusters the rows, such as ``KernelCSC(5)``; with ``n_clusters="auto"`` there
        are as many clusters as groups were found that differ.
    askable : array-like, optional
        Rows that may be asked about, as numbers or as a mask; all by default. Answers
        and ``constraints`` may name others.
    log : path-like, optional
        File of the events; a session that was there before goes on.
    id_column : str, optional
        Column of a data frame that names rows; by it rows are found again when the
        data have changed. Without ids rows are numbered, and found again by their
        values: in any order, among new rows, but not with other values.
    ids : array-like of shape (n_samples,), optional
        Names of the rows where they are in no column.
    original : array, sparse matrix or data frame, optional
        The rows before they became X, by which rows without ids are found again. By
        default X: but where a value of X depends on all rows, none is found again when
        one is added.
    features : array or sparse matrix, optional
        What rows are clustered by in the place of X, such as embeddings of its texts; X
        may be a list of texts then. Questions and clusters are those of a session on
        the features alone.
    strategy : str or Strategy, default="auto"
        How questions are chosen: "neighbourhoods" finds groups that differ and asks
        where further rows belong, "members" asks whether rows belong to the clusters
        that they are in; also "committee", "nearest", "npu", "random", or an object
        with ``select(view, n)``. "auto": "members" for embeddings (rows of 50 columns
        or more and of one length, not sparse) in eight known clusters or more,
        "neighbourhoods" otherwise.
    constraints : Constraints, optional
        Pairs that are known already, with their weights. What the log says of a pair
        is stronger.
    questions : "auto", str or sequence of str, default="pair"
        Kinds of question. "pair": whether two rows belong together; "which": to which
        group a row belongs; "grid": which of a dozen rows do not belong to a group;
        "merge": whether two groups are one thing. "auto": all of them, by the doubt
        that they promise to remove per second. With other kinds than "pair", "which"
        must be among them, clusters follow every answer, and ``strategy`` is not used.
    prices : mapping or Prices, optional
        Seconds that questions cost, such as ``{"which": 10}``. By default they are
        measured: the median of a person's answers of each kind, from 20 on.
    checks : bool, default=True
        Whether some questions are random pairs, which tell how good the clusters are,
        and some are asked again where the committee disbelieves the answer.
    random_state : int, default=0
        Seed of the questions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import KernelCSC
    >>> from linkwise.active import Session
    >>> X, y = load_iris(return_X_y=True)
    >>> session = Session(X, KernelCSC(3, n_candidates=50, random_state=0))
    >>> for _ in range(20):
    ...     q = session.ask()
    ...     told = session.tell(q, "same" if y[q.i] == y[q.j] else "different")
    >>> len(session.fit().labels_)
    150
    """

    def __init__(
        self,
        X: Any,
        estimator: Any,
        *,
        askable: Any = None,
        log: str | os.PathLike[str] | None = None,
        id_column: str | None = None,
        ids: Any = None,
        original: Any = None,
        features: Any = None,
        strategy: Any = "auto",
        constraints: Constraints | None = None,
        questions: Any = "pair",
        prices: Any = None,
        checks: bool = True,
        random_state: int = 0,
    ) -> None:
        if features is not None:
            X = pd.DataFrame(X)  # texts may come as a list
        self.ids, self.X_, self.columns_ = as_features(X, id_column, ids, features)
        self.estimator, self.checks = estimator, checks
        self.random_state = random_state
        self.questions = kinds_of(questions)
        own_prices = None if prices is None else Prices.of(prices)
        n_clusters = last_step(estimator).n_clusters
        self.strategy = strategy_of(strategy, self.X_, n_clusters)
        n_samples = len(self.ids)
        if original is None:
            is_table = isinstance(X, pd.DataFrame)
            original = X if is_table else side_by_side(self.X_)
        elif original.shape[0] != n_samples:
            raise ValueError(
                f"original has {original.shape[0]} rows, and X has {n_samples}."
            )
        are_given = ids is not None or id_column is not None
        naming = Naming(self.ids, are_given, original, log is not None)
        rng = np.random.default_rng(random_state)
        rows = rng.permutation(_askable(askable, n_samples))
        #: The rows as they are compared, one column for each column of X or fewer.
        self.features = compared(self.X_)
        self.log = Log(log)
        try:
            self._record = Record(self.log, naming, self.columns_, random_state)
            self._fitter = Fitter(
                self._record,
                estimator,
                self.X_,
                self.features,
                rows,
                getattr(self.strategy, "different_weight", 1.0),
            )
            self._asker = Asker(self._record, self._fitter, self.strategy, random_state)
            if constraints is not None:
                self._tell_all(constraints, None, self._told_before())
            self._desk: GroupDesk | None = None
            if self.questions != ("pair",):
                self._desk = GroupDesk.of(
                    self._record,
                    self._fitter,
                    self.questions,
                    random_state,
                    checks,
                    own_prices,
                )
        except BaseException:
            self.log.close()
            raise
        self._n_opened = len(self.log.events)

    @property
    def _state(self) -> State:
        return self._record.state

    def signed(
        self, who: str | None = None, attempt: str | None = None
    ) -> AbstractContextManager[None]:
        """Put a name and the id of a request on all events of a block.

        Parameters
        ----------
        who : str, optional
            Whose events they are.
        attempt : str, optional
            Anything unique: by it ``done`` tells whether a request that is sent once
            more was carried out, also after a restart.
        """
        return self._record.signed(who, attempt)

    def done(self, attempt: str) -> int | None:
        """Return the number of the last event of a request, None if there is none."""
        return self.log.last_of(attempt)

    @property
    def prices(self) -> Prices:
        """Seconds that questions cost: as given, or as measured."""
        if self._desk is None:
            return Prices()
        return self._desk.asker.prices or measured_prices(self._state)

    @property
    def follows_answers(self) -> bool:
        """Whether clusters follow every answer, without a fit."""
        return self._desk is not None

    @property
    def needs_fits(self) -> bool:
        """Whether fits make the clusters better: those of embeddings follow answers."""
        return self._desk is None or not self._desk.asker.are_texts

    # Questions

    def ask(self, n: int | None = None) -> Any:
        """Return the next question, None if nothing is left to ask.

        Parameters
        ----------
        n : int, optional
            Number of questions, at least 1; a list is returned then, in which no answer
            settles another question.
        """
        is_number = isinstance(n, int | np.integer) and not isinstance(n, bool)
        if n is not None:
            if not (is_number and n >= 1):
                raise ValueError(f"n={n!r}: it must be a whole number, at least 1.")
            return (self._desk or self._asker).select(int(n))
        if self._desk is not None:
            return next(iter(self._desk.select(1)), None)
        extra = self._asker.extra() if self.checks else None
        return extra or next(iter(self._asker.select(1)), None)

    def is_askable(self, i: int, j: int) -> bool:
        """Tell whether both rows may be asked about."""
        return self._asker.may_ask(i, j)

    def is_open(self, question: Any) -> bool:
        """Tell whether a question still needs an answer."""
        if not isinstance(question, Question):
            return question.id not in self._state.asked
        return is_open(self._state, question)

    def recall(self, name: str) -> Any:
        """Return the question of an id, which an earlier run may have asked.

        Raises
        ------
        LookupError
            If other rows are in the places of those that were asked about.
        """
        if self._desk is not None and is_about_groups(name):
            return self._desk.asker.recall(name)
        return self._asker.recall(name)

    def skip(self, question: Any) -> None:
        """Leave a question out; it does not come again."""
        if not isinstance(question, Question):
            self.tell(question, "unsure")
            return
        i, j = self._record.name(question.i), self._record.name(question.j)
        self._record.do(event="skip", i=i, j=j)

    def beliefs(self) -> dict[int, float]:
        """Return how probable the committee holds each answer, by event number."""
        return self._asker.beliefs()

    # Answers

    def tell(
        self,
        question: Any,
        answer: Any = None,
        *,
        who: str | None = None,
        weight: float = 1.0,
        note: str = "",
        seconds: float | None = None,
    ) -> Told:
        """Take an answer; it is in the log when this returns.

        Parameters
        ----------
        question : Question, pair of ids, or Constraints
            What was answered; whole Constraints need no ``answer``, and what is
            returned is of all of them, with the first contradiction.
        answer : {"same", "different", "unsure"}, bool, None, int or list of int
            What was said: of two rows or two groups one of these words; of "which" the
            place in ``question.groups``, "none" or "unsure"; of a grid the places in
            ``question.rows`` that do not belong, or "unsure".
        who : str, optional
            Who said it.
        weight : float, default=1.0
            What the pair counts in the fit.
        note : str, optional
            Written beside the answer; it goes when the answer is taken back.
        seconds : float, optional
            How long the person needed; by default the time since ``ask``.

        Returns
        -------
        Told
            If the answer contradicts others it is set aside, and ``conflict`` has the
            chain; ``resolve`` settles it.
        """
        if isinstance(question, Constraints):
            return self._tell_all(question, who)
        if isinstance(question, Which | Grid | Merge):
            return self._tell_group(question, answer, who, note, seconds)
        if isinstance(answer, list) or answer not in MEANING:
            raise ValueError(
                f"answer={answer!r}: allowed are 'same', 'different' and 'unsure'."
            )
        if not isinstance(weight, Real) or not 0.0 < float(weight) < np.inf:
            raise ValueError(f"weight={weight!r}: it must be a positive number.")
        weight = float(weight)
        is_same = MEANING[answer]
        kind, p, name = "pair", None, None
        if isinstance(question, Question):
            i, j = question.i, question.j
            kind, p, name = question.purpose, question.p_same, question.id
        else:
            i, j = self._record.rows_of(question)
        if name is not None and name in self._state.asked:
            before, number = self._state.asked[name]
            if before == WORDS[is_same]:
                # The same answer to the same question once more.
                return Told(True, event=number)
        n_before = self.n_follow
        number, is_stored = self._store(
            i,
            j,
            is_same,
            who=who,
            weight=None if weight == 1.0 else weight,
            p=p,
            purpose=None if kind == "pair" else kind,
            question=name,
            note=note or None,
            again=int(name.split(":")[-1]) if name and kind == "again" else None,
            seconds=seconds,
        )
        if not is_stored:
            return Told(False, 0, self._conflict(number), number)
        if is_same is not None:
            self._fitter.reweigh()
        return Told(True, self.n_follow - n_before, event=number)

    def _tell_group(
        self, question: Any, answer: Any, who: str | None, note: str, seconds: Any
    ) -> Told:
        """Take an answer about groups."""
        if self._desk is None:
            raise ValueError(
                f"questions={self.questions}: this session takes no answers to "
                f"{question.kind!r}."
            )
        told = self._desk.tell(question, answer, who, note, seconds)
        self._fitter.reweigh()
        return Told(True, told.n_pairs, event=told.event)

    def _store(
        self, i: int, j: int, is_same: bool | None, **more: Any
    ) -> tuple[int, bool]:
        """Put an answer into the log; return its number, and whether it counts."""
        counts = is_same is None or self._state.known.relation(i, j) in (None, is_same)
        number = self._record.do(
            event="answer" if counts else "conflict",
            i=self._record.name(i),
            j=self._record.name(j),
            answer=WORDS[is_same],
            **{key: value for key, value in more.items() if value is not None},
        )
        return number, counts

    def change(self, event: int, answer: Any) -> Told:
        """Give an earlier answer another meaning, or take it out.

        Parameters
        ----------
        event : int
            The number of the answer, as in ``history``.
        answer : {"same", "different", "unsure", "removed"}
            What it is from now on. If that contradicts other answers, it is set aside
            as a new answer would be.
        """
        if answer not in (*WORDS.values(), REMOVED):
            raise ValueError(
                f"answer={answer!r}: allowed are 'same', 'different', 'unsure' and "
                "'removed'."
            )
        if event not in self._state.answers:
            raise ValueError(f"There is no answer {event!r} that counts.")
        number = self._record.do(event="change", of=int(event), answer=answer)
        self._fitter.reweigh()
        if number in self._state.conflicts:
            return Told(False, 0, self._conflict(number), number)
        return Told(True, event=number)

    def note(self, event: int, text: str) -> None:
        """Write something beside an event of ``history``; an empty text removes it."""
        if not 0 <= event < len(self.log.events):
            raise ValueError(f"There is no event {event!r}.")
        self._record.do(event="note", of=int(event), text=str(text))

    @property
    def criterion(self) -> str:
        """In a person's words, what makes two rows belong together."""
        return self._state.criterion

    def describe(self, criterion: str) -> None:
        """Say what makes two rows belong together."""
        if criterion != self._state.criterion:
            self._record.do(event="criterion", text=str(criterion))

    def _tell_all(
        self, pairs: Constraints, who: str | None, but: Container[Any] = ()
    ) -> Told:
        n_before = self.n_follow
        number, conflict = -1, None
        with self._record.together():
            for ends, weights, is_same in (
                (pairs.must_link, pairs.must_link_weight, True),
                (pairs.cannot_link, pairs.cannot_link_weight, False),
            ):
                for names, own in zip(ends.tolist(), weights.tolist(), strict=True):
                    i, j = self._record.rows_of(names)
                    if pair(i, j) in but:
                        continue
                    weight = None if own == 1.0 else own
                    number, is_stored = self._store(
                        i, j, is_same, who=who, weight=weight
                    )
                    if conflict is None and not is_stored:
                        conflict = self._conflict(number)
        self._fitter.reweigh()
        return Told(conflict is None, self.n_follow - n_before, conflict, number)

    def _told_before(self) -> set[tuple[int, int]]:
        """Return the pairs that the log has an answer to, also one taken back."""
        events = [e for e in self.log.events if e["event"] in ("answer", "conflict")]
        found = (
            tuple(self._record.row_of.get(e[side]) for side in "ij") for e in events
        )
        return {pair(i, j) for i, j in found if i is not None and j is not None}

    @property
    def n_follow(self) -> int:
        """Number of pairs whose answer is known, or follows from others."""
        return self._state.known.as_groups().n_pairs

    # Contradictions

    def _conflict(self, number: int) -> Conflict:
        i, j, is_same = self._state.conflicts[number]
        chain = self._state.known.chain(i, j)
        return Conflict(number, i, j, WORDS[is_same], chain)

    def conflicts(self) -> list[Conflict]:
        """Return the answers that contradict others and are not settled yet."""
        found = []
        for number, (i, j, is_same) in self._state.conflicts.items():
            if self._state.known.relation(i, j) not in (None, is_same):
                found.append(self._conflict(number))
        return found

    def resolve(
        self, conflict: Conflict, choice: str, wrong: Answer | None = None
    ) -> None:
        """Settle a contradiction.

        Parameters
        ----------
        conflict : Conflict
            As ``tell`` or ``conflicts`` return it.
        choice : {"this", "that", "unsure", "aside"}
            "this": the new answer is wrong and goes; "that": the answer ``wrong`` of
            its chain is, and is turned round; "unsure": neither counts; "aside": the
            new answer stays out, the others count.
        wrong : Answer, optional
            For "that" and "unsure"; by default the one believed least.
        """
        allowed = ("this", "that", "unsure", "aside")
        if choice not in allowed:
            raise ValueError(f"choice={choice!r}: allowed are {', '.join(allowed)}.")
        if conflict.id not in self._state.conflicts:
            raise ValueError(f"There is no open contradiction {conflict.id}.")
        changes: list[tuple[int, str]] = []
        if choice in ("that", "unsure"):
            wrong = self.weakest(conflict) if wrong is None else wrong
            said = WORDS[not wrong.is_same] if choice == "that" else "unsure"
            changes = [(wrong.event, said)]
        keep = choice == "that"
        self._record.do(
            event="resolve", of=conflict.id, choice=choice, changes=changes, keep=keep
        )
        self._fitter.reweigh()

    def weakest(self, conflict: Conflict) -> Answer:
        """Return the answer of a chain that is believed least."""
        beliefs = self.beliefs()
        return min(
            conflict.chain,
            key=lambda a: (self._state.support[a.event], beliefs.get(a.event, 0.5)),
        )

    # Other people

    def agreement(self) -> Agreement:
        """Return how far people agree on pairs that several of them have judged."""
        return agreement_of(self.log.events)

    def join(self, path: str | os.PathLike[str]) -> dict[str, int]:
        """Take the answers of another log; those taken before are left out.

        Parameters
        ----------
        path : path-like
            Log of a session with the same ids.

        Returns
        -------
        dict
            Number of answers that were ``taken``, that contradict others
            (``conflicts``), that were here ``before``, and whose rows are ``lost``.
        """
        counts = dict.fromkeys(("taken", "conflicts", "before", "lost"), 0)
        with self._record.together():
            for attempt, i_name, j_name, answer, who in answers_of(
                path, self._record.naming
            ):
                i, j = self._record.row_of.get(i_name), self._record.row_of.get(j_name)
                if self.done(attempt) is not None:
                    counts["before"] += 1
                elif i is None or j is None or i == j:
                    counts["lost"] += 1
                else:
                    _, is_stored = self._store(
                        i, j, MEANING[answer], who=who, attempt=attempt
                    )
                    counts["taken" if is_stored else "conflicts"] += 1
        self._fitter.reweigh()
        return counts

    # Taking back

    def undo(self, n: int = 1, *, event: int | None = None) -> int:
        """Take the last n answers or corrections back; return how many there were.

        With ``event`` that one alone is taken back, whatever came after it.
        """
        return self._go("undo", n, event)

    def redo(self, n: int = 1, *, event: int | None = None) -> int:
        """Bring back what ``undo`` took; return how many there were."""
        return self._go("redo", n, event)

    def _go(self, way: str, n: int, of: int | None) -> int:
        n_changed = self._record.go(way, n, of)
        if n_changed:
            self._fitter.reweigh()
        return n_changed

    def undoable(self, way: str = "undo") -> list[int]:
        """Return the events that "undo" or "redo" could take now, the next first."""
        return self._record.undoable(way)

    # Corrections of whole clusters; answers about single pairs are stronger

    def merge(self, *clusters: int) -> int:
        """Make clusters one, which keeps the first id; return that.

        Earlier answers by which the clusters differ no longer count; ``history`` calls
        them "merged", and ``undo`` brings them back. Later answers count.
        """
        pairs = self._clusters.merged(clusters)
        listed = [int(cluster) for cluster in clusters]
        self._correct("merge", pairs, clusters=listed, to=listed[0])
        return listed[0]

    def split(self, cluster: int, rows: Sequence[Any]) -> int:
        """Take rows out of a cluster, into a new one; return its id."""
        chosen = self._chosen(rows)
        pairs = self._clusters.split(cluster, chosen)
        new = self._state.next_id
        self._correct("split", pairs, rows=self._names(chosen), to=new)
        return new

    def move(self, rows: Sequence[Any], to: int) -> None:
        """Put rows into another cluster."""
        chosen = self._chosen(rows)
        pairs = self._clusters.moved(chosen, to)
        self._correct("move", pairs, rows=self._names(chosen), to=int(to))

    def confirm(self, cluster: int, *, complete: bool = False) -> None:
        """Say that a cluster is right, and ``complete`` if nothing is missing."""
        pairs = self._clusters.confirmed(cluster, complete)
        self._correct("confirm", pairs, cluster=int(cluster))

    def rename(self, cluster: int, name: str) -> None:
        """Give a cluster a name."""
        self._clusters.members(cluster)
        self._record.do(event="rename", cluster=int(cluster), name=str(name))

    @property
    def _clusters(self) -> Clusters:
        if self._desk is None:
            return Clusters(self._state, self.features)
        return Clusters(self._state, self.features, self.labels_)

    def _correct(self, event: str, pairs: Pairs, **what: Any) -> None:
        name = self._record.name
        named = [(name(i), name(j), is_same) for i, j, is_same in pairs]
        self._record.do(event=event, pairs=named, **what)

    def _chosen(self, rows: Sequence[Any]) -> IntArray:
        found = [self._record.row(name) for name in rows]
        if not found:
            raise ValueError("rows is empty: name at least one row.")
        return np.unique(found)

    def _names(self, rows: IntArray) -> list[Any]:
        return [self._record.name(row) for row in rows.tolist()]

    # Clusters

    @property
    def constraints_(self) -> Constraints:
        """The pairs that count: answers, and what corrections of clusters stand for."""
        return self._fitter.constraints(self._state)

    @property
    def n_clusters(self) -> int | None:
        """Number of clusters; None while it is to be found."""
        return self._fitter.n_clusters

    @property
    def model_(self) -> Any:
        """The model of the last fit, None before it."""
        return self._fitter.model

    @property
    def waits_for_fits(self) -> bool:
        """Whether the committee of an earlier run is made again when it is needed.

        A program that fits in a thread of its own does not wait for it.
        """
        return self._fitter.waits

    @waits_for_fits.setter
    def waits_for_fits(self, waits: bool) -> None:
        self._fitter.waits = waits

    def fit(self) -> "Session":
        """Cluster the rows with all answers; ids stay with their clusters."""
        self.finish_fit(self._new_fit().run())
        return self

    def prepare_fit(self) -> Fitting:
        """Return a fit with all answers so far, which another thread may do.

        A session that goes on after a restart begins with the fit it had, unless
        something was said since: the committee is not in the log.
        """
        is_as_opened = len(self.log.events) == self._n_opened
        if self.model_ is None and self._state.fits and is_as_opened:
            return self._fitter.earlier_fit()
        return self._new_fit()

    def _new_fit(self) -> Fitting:
        n_clusters = self.n_clusters
        if n_clusters is None and self._desk is not None:
            n_clusters = max(2, self._desk.n_clusters)
        if n_clusters is None:
            n_clusters = max(2, len(self._asker.view.hoods))
        return self._fitter.new_fit(n_clusters)

    def finish_fit(self, fitting: Fitting) -> int:
        """Take the clusters of a fit that is done; return how many rows moved."""
        labels_now = None if self._desk is None else self._desk.asker.labels
        return self._fitter.finish(fitting, labels_now)

    @property
    def history(self) -> pd.DataFrame:
        """Everything that was said and done, one row each.

        ``active`` if it was not taken back; ``now`` is what an answer means after all
        that came later.
        """
        return history_of(self.log.events, self._state)

    @property
    def n_answers(self) -> int:
        """Number of answers other than unsure."""
        return self._state.n_answers

    @property
    def answers(self) -> dict[int, tuple[int, int, bool | None]]:
        """Two rows and what is said of them (None: unsure), by number of event."""
        return self._state.answers

    @property
    def is_fitted(self) -> bool:
        """Whether there are clusters, of this run or of an earlier one."""
        if self._desk is not None:
            return True
        return self._state.labels is not None

    @property
    def labels_(self) -> IntArray:
        """Cluster of each row by its id, as ``fit`` and later corrections left it.

        With questions about groups, clusters follow every answer and need no fit.

        Raises
        ------
        NotFittedError
            Before the first fit; answers alone make no clusters.
        """
        if self._desk is not None:
            return self._desk.asker.labels()
        if self._state.labels is None:
            raise NotFittedError(
                "There are no clusters yet: call fit() first. "
                f"Answers so far: {self.n_answers}."
            )
        return self._state.labels

    @property
    def names(self) -> dict[int, str]:
        """Names that clusters were given."""
        return dict(self._state.names)

    def doubt(self) -> FloatArray:
        """Return how probable it is that each row belongs to another cluster."""
        if self._desk is not None:
            return self._desk.asker.doubt()
        self._fitter.catch_up()
        doubt = self._fitter.doubt
        return np.full(len(self.ids), np.nan) if doubt is None else doubt

    def status(self) -> Status:
        """Return how far the session is, and whether more answers are worth it."""
        if self._desk is not None:
            return self._desk.status()
        return status_of(self._state, self._asker.view.hoods, len(self._fitter.rows))

    def close(self) -> None:
        """Let another session have the log."""
        self.log.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _askable(askable: Any, n_samples: int) -> IntArray:
    if askable is None:
        return np.arange(n_samples)
    rows = np.asarray(askable)
    if rows.dtype == bool:
        if rows.shape != (n_samples,):
            raise ValueError(
                f"askable has shape {rows.shape}: as a mask it needs {n_samples} rows."
            )
        rows = np.flatnonzero(rows)
    rows = np.unique(rows.astype(np.intp))
    if len(rows) == 0 or rows[0] < 0 or rows[-1] >= n_samples:
        raise ValueError(f"askable must name rows in range({n_samples}).")
    return rows


__all__ = ["Conflict", "LogError", "Question", "Session", "Told"]
