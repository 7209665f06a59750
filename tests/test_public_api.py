import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import linkwise


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_names_can_be_imported_and_stand_in_order():
    assert linkwise.__all__ == sorted(set(linkwise.__all__))
    for name in linkwise.__all__:
        assert getattr(linkwise, name).__name__ == name


def test_star_import_gives_exactly_the_public_names():
    namespace = {}
    exec("from linkwise import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(linkwise.__all__)


def test_public_names_are_listed_by_dir():
    assert set(linkwise.__all__) <= set(dir(linkwise))


def test_public_names_have_docstrings():
    for name in linkwise.__all__:
        assert getattr(linkwise, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'KernelCSV'"):
        linkwise.KernelCSV  # noqa: B018


def test_the_version_is_a_number():
    assert all(part.isdigit() for part in linkwise.__version__.split("."))


def test_importing_linkwise_imports_nothing_heavy():
    heavy = ["sklearn", "matplotlib", "dask", "rich", "numba", "pandas", "numpy"]
    code = f"import sys, linkwise; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code).strip() == "[]"


def test_constraints_do_not_import_scikit_learn():
    code = (
        "import sys; from linkwise import Constraints; print('sklearn' in sys.modules)"
    )
    assert run_python(code).strip() == "False"


@pytest.mark.parametrize(
    "name",
    ["ConstrainedKernelKMeans", "KernelCSC", "MahalanobisCSC", "SingleKernelCSC"],
)
def test_every_parameter_of_an_estimator_is_documented_and_constrained(name):
    estimator = getattr(linkwise, name)
    parameters = list(estimator().get_params())
    text = inspect.getdoc(estimator)
    parts = text.split("Parameters\n")[1].split("Attributes\n")[0]
    documented = [
        line.split(" :")[0]
        for line in parts.splitlines()
        if line[:1].strip() and " : " in line
    ]
    assert sorted(documented) == sorted(parameters)
    assert sorted(estimator._parameter_constraints) == sorted(parameters)


def test_layers_import_only_what_stands_above_them():
    pytest.importorskip("importlinter")
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
