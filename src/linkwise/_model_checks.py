"""A model that comes from a file, checked before it is used.

What compiled code would follow beyond its arrays is checked one by one; then a model
with a kernel has to predict one row.
"""

import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

from linkwise.clustering import Centres, Logistic, Mixture, UnitRows
from linkwise.estimators import MahalanobisCSC
from linkwise.estimators._placed_embeddings import PlacedEmbeddings, ViewMixtures
from linkwise.estimators._placed_rows import NearestCentre, PlacedRows
from linkwise.estimators._placing import Placing
from linkwise.estimators._ridge import Ridge
from linkwise.estimators._trees import Trees
from linkwise.kernels import (
    Standardized,
    check_array,
    check_kernel,
    is_whole,
    need,
    need_type,
)
from linkwise.tables import (
    ColumnNote,
    EncoderNote,
    PicturePreparation,
    Reading,
    TablePreparation,
    ViewNote,
)
from linkwise.tables._plain_columns import PlainColumns
from linkwise.tables._text_columns import TextColumns
from linkwise.tables._text_views import MeaningView, WordView

# Sparse rows count them in 32 bits.
_MAX_COLUMNS = 2**31 - 1
_ANALYZERS = ("char", "word")
# Settings of the vectoriser that do not matter, or that a row of a table tries.
_FREE = (
    "analyzer",
    "dtype",
    "max_features",
    "min_df",
    "ngram_range",
    "sublinear_tf",
)
# Elements of the state of numpy's Mersenne Twister.
_TWISTER_SIZE = 624


def check_model(
    own: Any, preparation: TablePreparation | PicturePreparation | None
) -> None:
    """Raise if a clusterer, or what prepares tables for it, cannot be used."""
    sizes = getattr(own, "n_features_in_", ())
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    need(all(is_whole(n, 1, _MAX_COLUMNS) for n in sizes), "it has no columns")
    if isinstance(own, MahalanobisCSC):
        n_clusters = _check_metric(own, *sizes)
    else:
        n_clusters = _check_centres(own, sizes)
    _check_labels(own, n_clusters)
    seed = own.random_state
    if isinstance(seed, np.random.RandomState):
        place = seed.get_state(legacy=False)["state"]["pos"]
        need(0 <= place <= _TWISTER_SIZE, "random_state has no such place")
    if not isinstance(own, MahalanobisCSC):  # of which nothing is left to try
        _try(own, sizes, n_clusters)
    if isinstance(preparation, PicturePreparation):
        _check_pictures(preparation, sizes)
    elif preparation is not None:
        _check_preparation(preparation, sizes)


def _check_metric(own: Any, n_features: int) -> int:
    """Return the number of clusters of a model with weights of features."""
    n_clusters, _ = check_array(own.cluster_centers_, (None, n_features), "centres")
    check_array(own.feature_weights_, (n_features,), "weights of features")
    need_type(own._view, "the view", Standardized)
    for values in (own._view.mean, own._view.scale):
        check_array(values, (n_features,), "means and scales of columns")
    return n_clusters


def _check_centres(own: Any, sizes: tuple[int, ...]) -> int:
    """Return the number of clusters of a model with a kernel."""
    (n_clusters,) = check_array(own._centre_norms, (None,), "norms of centres")
    n_values = check_kernel(own._kernel, sizes)
    check_array(own._row_shares, (n_values, n_clusters), "parts of rows in centres")
    if getattr(own, "_far_limit", None) is not None:
        check_array(own._mean_distances, (n_clusters,), "distances from centres")
        need(np.ndim(own._far_limit) == 0, "the limit of distances is no number")
    if getattr(own, "_rule", None) is not None:
        _check_rule(own._rule, sizes, n_clusters)
    return n_clusters


def _check_rule(rule: Any, sizes: tuple[int, ...], n_clusters: int) -> None:
    """Raise unless a rule can say where rows belong."""
    need_type(rule, "the rule for rows", PlacedRows, PlacedEmbeddings)
    k = n_clusters
    check_array(rule.order, (k,), "the order of clusters")
    need(sorted(rule.order.tolist()) == list(range(k)), "a cluster is missing")
    if type(rule) is PlacedRows:
        _check_placed_rows(rule, sizes, k)
        return
    check_array(rule.biases, (k,), "biases of clusters")
    need_type(rule.views, "the set of mixtures", tuple)
    need(len(rule.views) > 0, "there is no mixture")
    for view in rule.views:
        _check_view_mixtures(view, sizes, k)
    if rule.tables is not None:
        need_type(rule.tables, "the rule for tables", PlacedRows)
        _check_rule(rule.tables, sizes, k)


def _check_view_mixtures(view: Any, sizes: tuple[int, ...], k: int) -> None:
    """Raise unless a mixture can say how rows of its view look."""
    need_type(view, "what is known of a view", ViewMixtures)
    need(is_whole(view.source, 0, len(sizes) - 1), "a view is missing")
    need_type(view.steps, "what prepares a view", tuple)
    width = sizes[view.source]
    for step in view.steps:
        need_type(step, "what prepares a view", UnitRows)
        _, new = check_array(step.directions, (width, None), "directions of a view")
        check_array(step.mean, (new,), "the mean of a view")
        width = new
    need_type(view.mixtures, "the set of mixtures", tuple)
    need(len(view.mixtures) > 0, "there is no mixture")
    for mixture in view.mixtures:
        _check_mixture(mixture, width, k)


def _check_mixture(mixture: Any, width: int, k: int) -> None:
    """Raise unless a mixture has a centre for each cluster."""
    need_type(mixture, "what is learnt of a view", Mixture)
    check_array(mixture.centres, (k, width), "centres of a mixture")
    check_array(mixture.log_priors, (k,), "shares of a mixture")
    need(isinstance(mixture.kappa, float), "a mixture has no concentration")
    logistic = mixture.logistic
    if logistic is None:
        return
    need_type(logistic, "a logistic regression", Logistic)
    (n_known,) = check_array(logistic.components, (None,), "components")
    need(logistic.components.dtype.kind == "i", "components are no whole numbers")
    known = set(logistic.components.tolist())
    need(known <= set(range(k)) and len(known) == n_known, "a component is unknown")
    check_array(logistic.coefficients, (width, n_known), "coefficients")
    check_array(logistic.intercepts, (n_known,), "intercepts")


def _check_placed_rows(rule: Any, sizes: tuple[int, ...], k: int) -> None:
    """Raise unless committee and forests can say where rows belong."""
    placing = rule.placing
    need_type(placing, "what is learnt of rows", Placing)
    need_type(rule.sources, "the set of tables", tuple)
    are_there = all(is_whole(own, 0, len(sizes) - 1) for own in rule.sources)
    need(are_there and len(rule.sources) > 0, "a table is missing")
    need_type(rule.members, "the set of members", tuple)
    for member in rule.members:
        need_type(member, "a member", NearestCentre)
        need_type(member.centres, "the set of centres", Centres)
        n_values = check_kernel(member.kernel, sizes)
        check_array(member.centres.coefficients, (n_values, k), "parts of centres")
        check_array(member.centres.norms, (k,), "norms of centres")
    n_members = len(rule.members)
    check_array(placing.weights, (n_members,), "weights of members")
    check_array(placing.tables, (n_members, k, k), "tables of members")
    need(isinstance(placing.committee_weight, float), "the committee has no weight")
    need_type(placing.learners, "the set of learners", tuple)
    if not placing.learners:
        return
    n_features = sum(sizes[source] for source in rule.sources)
    need_type(placing.scaling, "the scaling of columns", Standardized)
    for values in (placing.scaling.mean, placing.scaling.scale):
        check_array(values, (n_features,), "means and scales of columns")
    for learner in placing.learners:
        check = _check_ridge if isinstance(learner, Ridge) else _check_trees
        check(learner, n_features, k)
        is_known = bool(np.array_equal(learner.classes, placing.learners[0].classes))
        need(is_known, "learners know different clusters")


def _check_ridge(ridge: Any, n_features: int, n_clusters: int) -> None:
    """Raise unless a regression has a coefficient for each centre and cluster."""
    n_centres, _ = check_array(ridge.centres, (None, n_features), "centres")
    (n_known,) = check_array(ridge.offset, (None,), "shares of clusters")
    check_array(ridge.coefficients, (n_centres, n_known), "coefficients")
    need(isinstance(ridge.width, float) and ridge.width > 0.0, "a kernel has no width")
    need(isinstance(ridge.is_linear, bool), "a kernel is of no kind")
    _check_classes(ridge.classes, n_known, n_clusters)


def _check_classes(classes: Any, n_known: int, n_clusters: int) -> None:
    check_array(classes, (n_known,), "classes")
    need(classes.dtype.kind == "i", "clusters are no whole numbers")
    is_there = bool(((classes >= 0) & (classes < n_clusters)).all())
    need(is_there, "a learner knows clusters that are not there")
    need(len(np.unique(classes)) == n_known, "a cluster is unknown")


def _check_trees(trees: Any, n_features: int, n_clusters: int) -> None:
    """Raise unless each branch leads to later nodes, by a column that is there."""
    need_type(trees, "the set of trees", Trees)
    (n_nodes,) = check_array(trees.feature, (None,), "nodes")
    n_leaves, n_known = check_array(trees.votes, (None, None), "votes")
    for values in (trees.threshold, trees.left, trees.right):
        check_array(values, (n_nodes,), "nodes")
    check_array(trees.roots, (None,), "roots")
    _check_classes(trees.classes, n_known, n_clusters)
    whole = (trees.feature, trees.left, trees.right, trees.roots)
    need(all(own.dtype.kind == "i" for own in whole), "nodes are no whole numbers")
    is_leaf, nodes = trees.feature < 0, np.arange(n_nodes)
    branches, leaves = nodes[~is_leaf], trees.left[is_leaf]
    for after in (trees.left[~is_leaf], trees.right[~is_leaf]):
        is_later = bool(((branches < after) & (after < n_nodes)).all())
        need(is_later, "a node of a tree leads nowhere")
    for own, n in (
        (trees.feature[~is_leaf], n_features),
        (leaves, n_leaves),
        (trees.roots, n_nodes),
    ):
        is_there = bool(((own >= 0) & (own < n)).all())
        need(is_there, "a tree looks beyond what is there")
    need(len(trees.roots) > 0, "there is no tree")
    need(bool((np.diff(trees.roots) > 0).all()), "trees do not follow each other")


def _check_labels(own: Any, n_clusters: int) -> None:
    check_array(own.labels_, (None,), "labels")
    need(own.labels_.dtype.kind == "i", "labels are no whole numbers")
    is_there = (own.labels_ >= -1) & (own.labels_ < n_clusters)
    need(bool(is_there.all()), f"a label is none of {n_clusters} clusters")
    asked_for = getattr(own, "n_clusters_", own.n_clusters)
    need(asked_for == n_clusters, f"there are {n_clusters} clusters, not {asked_for}")


def _try(own: Any, sizes: tuple[int, ...], n_clusters: int) -> None:
    """Predict one row of zeros: whatever else is wrong shows here and not later."""
    kernel = own._kernel
    if any(getattr(entry.kernel, "cross", 0) is None for entry in kernel._entries):
        return  # a Gram matrix without the values of new rows cannot predict
    sparse = {
        source
        for source, points in zip(
            kernel._views.sources, kernel._views.points, strict=True
        )
        if issparse(points.values)
    }
    rows = [
        csr_array((1, n)) if at in sparse else np.zeros((1, n))
        for at, n in enumerate(sizes)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = own.predict(rows[0] if len(rows) == 1 else rows)
    is_label = labels.shape == (1,) and -1 <= labels[0] < n_clusters
    need(is_label, "a row gets no label")


def _check_pictures(preparation: PicturePreparation, sizes: tuple[int, ...]) -> None:
    need(set(vars(preparation)) == {"views"}, "pictures have other settings")
    need(isinstance(preparation.views, bool), "pictures have other settings")
    widths = tuple(view.width for view in preparation.views_)
    need(widths == sizes, "a picture gets other numbers")


def _check_preparation(preparation: TablePreparation, sizes: tuple[int, ...]) -> None:
    for part in _parts(preparation, set()):
        need(getattr(part, "n_jobs", None) is None, "columns have other settings")
        if type(part) is OneHotEncoder and hasattr(part, "categories_"):
            _check_categories(part)
        if type(part) is TfidfVectorizer and hasattr(part, "vocabulary_"):
            _check_vocabulary(part)
    for note in preparation.columns_:
        need_type(note, "what is known of a column", ColumnNote)
        need_type(note.reading, "how a column is read", Reading)
        need(note.reading.is_sound, "a column is read in no known way")
    widths = _check_texts(preparation._texts)
    if preparation._plain is not None:
        _check_plain(preparation._plain)
    reduced = preparation._reductions
    need_type(reduced, "the set of texts in few columns", dict)
    for name, reduction in reduced.items():
        if reduction is not None:
            need_type(reduction, "what makes texts a few columns", TruncatedSVD)
            check_array(reduction.components_, (None, widths[name]), "columns of words")
    for view in preparation.views_:
        need_type(view, "what is known of a view", ViewNote)
    names = preparation.feature_names_in_
    empty = pd.DataFrame({name: [None] for name in names}, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = preparation.transform(empty)
        except ValueError:
            return  # what is wrong with a row, which people are told when they predict
    views = found if isinstance(found, list) else [found]
    shapes = [view.shape for view in views]
    need(shapes == [(1, size) for size in sizes], "a row of a table gets lost")


def _check_plain(plain: Any) -> None:
    """Raise unless numbers, dates and categories are scaled as they were."""
    need_type(plain, "the set of plain columns", PlainColumns)
    n_features = plain.width
    check_array(plain._medians, (None,), "medians")
    check_array(plain._filling, (None,), "medians")
    n_filled = len(plain._medians) + len(plain._filling)
    need(n_filled <= n_features, f"{n_filled} columns of {n_features} have medians")
    for values in (plain._centre, plain._scale):
        check_array(values, (n_features,), "means and scales of columns")


def _check_texts(texts: Any) -> dict[str, int]:
    """Return how many columns each column of texts becomes."""
    if texts is None:
        return {}
    need_type(texts, "the set of texts", TextColumns)
    need_type(texts.note, "what is known of the encoder", EncoderNote)
    need(all(type(part) is str for part in texts.note[:3]), "the encoder has no name")
    by_words = texts.note.name == "tfidf" and not texts.note.is_own
    need(by_words == (texts.probe is None), "the encoder is not known again")
    if texts.probe is not None:
        check_array(texts.probe, (None, None), "rows of an encoder")
    for view in texts.views.values():
        if by_words:
            need_type(view, "a view of words", WordView)
            need_type(view.vectorizer, "what counts words", TfidfVectorizer)
        else:
            need_type(view, "a view of texts", MeaningView)
            n_columns = texts.probe.shape[1]
            check_array(view.filling, (n_columns,), "rows of gaps")
    return {name: view.width for name, view in texts.views.items()}


def _parts(part: Any, seen: set[int]) -> Iterator[Any]:
    """Yield all objects that an object holds, and it; functions are not looked into."""
    if id(part) in seen or isinstance(part, str | int | float | type | FunctionType):
        return
    seen.add(id(part))
    yield part
    inside: Any = getattr(part, "__dict__", {}).values()
    if isinstance(part, dict):
        inside = part.values()
    elif isinstance(part, np.ndarray):
        inside = part.ravel() if part.dtype == object else ()
    elif isinstance(part, list | tuple):
        inside = part
    for entry in inside:
        yield from _parts(entry, seen)


def _check_categories(encoder: Any) -> None:
    """Raise unless the columns of categories are as many as there are categories."""
    sizes = []
    for values in encoder.categories_:
        is_array = type(values) is np.ndarray and values.ndim == 1
        need(is_array and values.dtype == object, "categories are no texts")
        sizes.append(len(values))
    is_plain = encoder._drop_idx_after_grouping is None
    need(is_plain and not encoder._infrequent_enabled, "categories are left out")
    need(encoder._n_features_outs == sizes, "categories have other columns")


def _check_vocabulary(vectorizer: Any) -> None:
    """Raise unless each word has a column of its own, and words are found as usual."""
    columns = list(vectorizer.vocabulary_.values())
    need(sorted(columns) == list(range(len(columns))), "a word has no column")
    check_array(vectorizer.idf_, (len(columns),), "weights of words")
    given = vectorizer.get_params()
    free = {name: given[name] for name in _FREE}
    is_usual = free["analyzer"] in _ANALYZERS
    is_usual = is_usual and given == TfidfVectorizer(**free).get_params()
    need(is_usual, "words are found in another way")
