"""The random numbers of kernels against SplitMix64 in whole numbers."""

import numpy as np

from trueodds.kernels.bayesian_isotonic import RandomStream

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def naive_stream(seed, index, n):
    at = mix((seed + GOLDEN) & MASK) ^ mix(((index + 1) * 0x94D049BB133111EB) & MASK)
    state, numbers = mix(at), []
    for _ in range(n):
        state = (state + GOLDEN) & MASK
        numbers.append(((mix(state) >> 11) + 0.5) * 2.0**-53)
    return numbers


def stream(seed, index, n):
    numbers = RandomStream(seed, index)
    return [numbers.uniform() for _ in range(n)]


def test_the_mixing_is_that_of_the_published_generator():
    # The first two numbers of SplitMix64 from state 0, as published with it.
    assert mix(GOLDEN) == 0xE220A8397B1DCDAF
    assert mix((2 * GOLDEN) & MASK) == 0x6E789E6AA1B965F4


def test_numbers_equal_those_computed_with_whole_numbers():
    for seed, index in [(0, 0), (0, 1), (12345, 7), (2**64 - 1, 2**31)]:
        assert stream(seed, index, 5) == naive_stream(seed, index, 5)


def test_a_stream_can_begin_anew():
    numbers = RandomStream(1, 2)
    first = numbers.uniform()
    numbers.begin(12345, 7)
    assert numbers.uniform() == naive_stream(12345, 7, 1)[0]
    numbers.begin(1, 2)
    assert numbers.uniform() == first


def test_numbers_lie_strictly_between_0_and_1_and_are_spread_evenly():
    numbers = np.sort(stream(3, 0, 20_000))
    assert numbers[0] > 0
    assert numbers[-1] < 1
    assert np.abs(numbers - (np.arange(20_000) + 0.5) / 20_000).max() < 1.95 / np.sqrt(20_000)
