from hashlib import blake2b

from linkwise.experiments import derive_seed


def test_seeds_are_the_same_in_every_process_and_on_every_machine():
    digest = blake2b(b"iris\x1f0\x1fKernelCSC", digest_size=4).digest()
    assert derive_seed("iris", 0, "KernelCSC") == int.from_bytes(digest, "little")
    assert derive_seed("iris", 0, "KernelCSC") == 1612136456


def test_a_seed_depends_on_every_name_and_their_order():
    names = [("a", 0, "b"), ("a", 1, "b"), ("b", 0, "a"), ("a", 0), ("a0", "b")]
    assert len({derive_seed(*each) for each in names}) == len(names)


def test_seeds_fit_into_what_scikit_learn_takes():
    assert all(0 <= derive_seed("set", trial) < 2**32 for trial in range(100))
