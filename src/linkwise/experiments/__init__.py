"""The paper's experiments: data sets, protocol, methods, plans, records, ranks.

An experiment is a :class:`Plan`. Its jobs are carried out by :func:`run_jobs`, each in
a process of its own, here or on a Dask cluster, and their records kept in a
:class:`Store`. Tables are functions of records.
"""

from linkwise.experiments._claims import PAPER_METHODS, check_claims
from linkwise.experiments._datasets import (
    Dataset,
    dataset_size,
    load_dataset,
    paper_datasets,
)
from linkwise.experiments._jobs import Job, Key
from linkwise.experiments._measure import run_job
from linkwise.experiments._methods import clusterer, find_method, method_names
from linkwise.experiments._plans import (
    MethodEntry,
    Plan,
    PlanError,
    load_plan,
    parse_duration,
    ready_plans,
)
from linkwise.experiments._protocol import (
    Trial,
    draw_trial,
    n_paper_pairs,
    n_possible_pairs,
)
from linkwise.experiments._remote import ClusterError
from linkwise.experiments._runner import Progress, run_jobs
from linkwise.experiments._seeds import derive_seed
from linkwise.experiments._store import Store, read_records, select_records
from linkwise.experiments._tables import (
    against,
    compare_records,
    failures,
    first_shares,
    mean_scores,
    rank_methods,
    rank_shares,
    rivals_ahead,
    significant_ranks,
    significant_shares,
    split_by,
    summary,
    trial_scores,
    wall_times,
)

__all__ = [
    "PAPER_METHODS",
    "ClusterError",
    "Dataset",
    "Job",
    "Key",
    "MethodEntry",
    "Plan",
    "PlanError",
    "Progress",
    "Store",
    "Trial",
    "against",
    "check_claims",
    "clusterer",
    "compare_records",
    "dataset_size",
    "derive_seed",
    "draw_trial",
    "failures",
    "find_method",
    "first_shares",
    "load_dataset",
    "load_plan",
    "mean_scores",
    "method_names",
    "n_paper_pairs",
    "n_possible_pairs",
    "paper_datasets",
    "parse_duration",
    "rank_methods",
    "rank_shares",
    "read_records",
    "ready_plans",
    "rivals_ahead",
    "run_job",
    "run_jobs",
    "select_records",
    "significant_ranks",
    "significant_shares",
    "split_by",
    "summary",
    "trial_scores",
    "wall_times",
]
