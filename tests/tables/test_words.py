"""Words that tell what the texts of a cluster are about."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwise import cluster_words
from linkwise.tables import TextTerms, words_text
from linkwise.tables._words import _analyzed

TEXTS = [
    "the big game was won last night",
    "a game at night for the championship",
    "night game: championship is theirs",
    "the stock market fell",
    "stock market and the price of oil",
    "oil is up, the stock market down",
]
LABELS = [0, 0, 0, 1, 1, 1]


def test_the_most_telling_words_come_first_without_stop_words():
    words = cluster_words(TEXTS, LABELS)
    assert set(words[0]) == {"night", "game", "championship"}
    assert words[1] == ["stock market", "oil"]
    assert words_text(words[1]) == "stock market · oil"


def test_terms_of_several_words_take_the_place_of_their_words():
    texts = ["prime minister speaks"] * 3 + ["a minister of sports", "football", "news"]
    words = cluster_words(texts, [0, 0, 0, 1, 1, 1])
    assert words[0] == ["prime minister speaks"]
    assert not any("prime" in term for term in words[1])


def test_pieces_of_a_term_with_a_word_that_is_taken_come_last():
    own = ["an invoice", "invoice", "send a new invoice", "send a new invoice"]
    own += ["charged twice", "charged twice"]
    words = cluster_words([*own, *["a parcel"] * 6], [0] * 6 + [1] * 6)
    assert words[0][:2] == ["invoice", "charged twice"] and words[1] == ["parcel"]


def test_runs_end_at_stop_words_and_at_the_end_of_a_sentence():
    found = set(_analyzed("Send a new invoice. Now pay, please: it is of the bank"))
    assert {"send", "send a new", "send a new invoice", "new invoice"} <= found
    assert not any("invoice now" in term or "of the" in term for term in found)
    assert not {"a", "is", "of", "a new"} & found


def test_words_of_most_rows_say_nothing_in_any_language():
    said = ["das paket ist da", "das paket kommt", "das geld ist da", "das geld fehlt"]
    words = cluster_words(said * 5, [0, 0, 1, 1] * 5)
    assert words[0][0] == "paket" and words[1][0] == "geld"
    assert not any("das" in term.split()[0] for own in words.values() for term in own)


def test_a_word_of_nearly_a_whole_cluster_counts_however_frequent():
    words = cluster_words(["red wine here"] * 6 + ["beer there"] * 4, [0] * 6 + [1] * 4)
    assert words == {0: ["red wine"], 1: ["beer"]}


def test_scripts_without_spaces_have_words_too():
    texts = ["注文が届かない", "荷物が届かない", "請求書が違う", "請求書を送って"]
    words = cluster_words(texts, [0, 0, 1, 1], n_words=8)
    assert any("届か" in term for term in words[0])
    assert any("請求" in term for term in words[1])


def test_tables_give_their_columns_of_texts_and_gaps_are_nothing():
    table = pd.DataFrame({"id": range(6), "text": TEXTS, "n": [1.5] * 3 + [2.5] * 3})
    assert cluster_words(table, LABELS) == cluster_words(TEXTS, LABELS)
    table.loc[0, "text"] = None
    assert "night" in cluster_words(table, LABELS)[0]
    kinds = {"id": "id", "n": "number"}
    assert cluster_words(table, LABELS, kinds=kinds) == {0: [], 1: []}


def test_rows_in_no_cluster_and_other_numbers_of_clusters():
    words = cluster_words(TEXTS, [-1, 7, 7, 3, 3, -1])
    assert list(words) == [3, 7]
    assert cluster_words(TEXTS, [-1] * 6) == {}
    assert cluster_words(["", None], [0, 1]) == {0: [], 1: []}
    with pytest.raises(ValueError, match=r"labels has shape \(2,\): .* of the 6 texts"):
        cluster_words(TEXTS, [0, 1])


words_of_texts = st.lists(
    st.sampled_from(["red", "green", "blue", "the", "dog", "cat", "dogs"]),
    max_size=6,
).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(words_of_texts, st.integers(-1, 2)), min_size=2, max_size=20))
def test_words_are_more_frequent_here_and_used_once(rows):
    texts, labels = [text for text, _ in rows], np.array([c for _, c in rows])
    has = [set(_analyzed(text)) for text in texts]
    inside = np.flatnonzero(labels >= 0)
    for cluster, terms in cluster_words(texts, labels, n_words=4).items():
        own = np.flatnonzero(labels == cluster)
        for term in terms:
            here = np.mean([term in has[row] for row in own])
            overall = np.mean([term in has[row] for row in inside])
            assert here >= overall > 0.0
        counts = Counter(word for term in terms for word in set(term.split()))
        assert all(count == 1 for count in counts.values())


def test_many_rows_are_sampled_and_labels_may_change(monkeypatch):
    monkeypatch.setattr("linkwise.tables._words._MAX_ROWS", 50)
    terms = TextTerms(TEXTS * 100)
    assert len(terms.rows) == 50
    words = terms.words(np.tile(LABELS, 100))
    assert words[1][0] == "stock market"
    swapped = terms.words(1 - np.tile(LABELS, 100))
    assert swapped == {0: words[1], 1: words[0]}
