"""What a model shows in a notebook links to the guide, if it is known where that is."""

import pytest

from linkwise import KernelCSC, MahalanobisCSC
from linkwise.baselines import PCKMeans

MODELS = {
    KernelCSC: "linkwise.KernelCSC",
    MahalanobisCSC: "linkwise.MahalanobisCSC",
    PCKMeans: "linkwise.baselines.PCKMeans",
}


@pytest.mark.parametrize("model", MODELS)
def test_the_link_leads_to_the_page_of_the_class(model, monkeypatch):
    monkeypatch.setenv("LINKWISE_DOCS", "../{guide}/")
    page = f"../{{guide}}/api/{MODELS[model]}.html"
    assert model()._get_doc_link() == page
    html = model()._repr_html_()
    assert f'href="{page}"' in html
    assert "documentation for" in html.lower()


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.delenv("LINKWISE_DOCS", raising=False)
    assert KernelCSC()._get_doc_link() == ""
    assert "/api/" not in KernelCSC()._repr_html_()
