import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkwise import (
    ConstrainedKernelKMeans,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)

ESTIMATORS = [
    KernelCSC(2, n_candidates=20),
    KernelCSC(2, kernels="paper", n_candidates=20, final_step="soft"),
    SingleKernelCSC(2),
    MahalanobisCSC(2, n_candidates=20),
    ConstrainedKernelKMeans(2),
]


def expected_failed_checks(estimator):
    reason = (
        "weights must be positive, and seeds depend on the order of rows: the first of "
        "equal components is that with the smallest index"
    )
    if isinstance(estimator, SingleKernelCSC):
        reason += "; the check also takes cv for a splitter of rows"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


# Checks know nothing of pairs, and their labels may be too few for n_clusters.
@pytest.mark.filterwarnings("ignore::linkwise.ConstraintWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_compatible_estimator(estimator, check):
    check(estimator)
