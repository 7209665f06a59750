"""How the guide is built: see the target ``docs`` of the Makefile."""

import re

import linkwise

project = "linkwise"
author = "The developers of linkwise"
copyright = "2026, " + author  # noqa: A001
version = release = linkwise.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_templates", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
# Words that stand where a type could stand, in docstrings in plain sentences.
nitpick_ignore_regex = [("py:.*", r"(?!linkwise\.).*")]

myst_enable_extensions = ["dollarmath", "attrs_block"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "doc_module": ("linkwise",),
    "backreferences_dir": "api/backreferences",
    "inspect_global_variables": False,
}

html_title = "linkwise"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    # The picture of the architecture takes the whole width.
    "secondary_sidebar_items": {"architecture": [], "**": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
}


def leave_out(app, what, name, obj, skip, options):
    """Skip methods of scikit-learn: their texts link to its own guide."""
    made = name.startswith("set_") and name.endswith("_request")
    foreign = (getattr(obj, "__module__", None) or "").startswith("sklearn.")
    return True if made or foreign else None


def plain(app, what, name, obj, options, lines):
    """Let ``labels_`` and ``|K|`` stand in docstrings without quotes."""
    in_code = False
    for at, line in enumerate(lines):
        in_code = line.lstrip().startswith(">>>") or (in_code and bool(line.strip()))
        if not in_code:
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            for place in range(0, len(parts), 2):
                parts[place] = re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", parts[place])
            lines[at] = "".join(parts)


def setup(app):
    """Connect the hooks above, the second after numpydoc."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", plain, priority=600)
