from tests.label.browser.conftest import browser  # noqa: F401
