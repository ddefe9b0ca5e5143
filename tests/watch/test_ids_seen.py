"""Ids of rows that were counted."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from trueodds.exceptions import StateFormatError
from trueodds.watch import ids_seen
from trueodds.watch.ids_seen import IdsSeen

IDS = st.lists(st.one_of(st.integers(0, 30), st.sampled_from(["a", "b", "é", "\ud800"])))


@settings(max_examples=100, deadline=None)
@given(added=IDS, most=st.integers(1, 12))
def test_the_last_ids_are_known(added, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids_seen, "MOST_IDS", most)
        seen, naive, dropped = IdsSeen(), [], 0
        for one in added:
            assert seen.add(one) == (one not in naive)
            if one not in naive:
                naive.append(one)
                dropped += len(naive) > most
                naive = naive[-most:]
            seen = IdsSeen.from_dict(json.loads(json.dumps(seen.to_dict())))
        assert {one for one in added if one in seen} == set(naive)
        assert (len(seen), seen.forgotten) == (len(naive), dropped)


def test_the_hash_of_an_id_is_the_same_in_every_version():
    import base64
    import hashlib

    seen = IdsSeen()
    seen.add("order 7")
    seen.add(7)
    parts = [hashlib.blake2b(text, digest_size=6).digest() for text in (b"order 7", b"7")]
    assert seen.to_dict() == {
        "hashes": base64.b64encode(b"".join(parts)).decode(),
        "forgotten": 0,
    }


@pytest.mark.parametrize("hashes", ["AAAA", "?", "AAAAAAAA" * 100_001, 7, "AAAAAAA\u00e9"])
def test_hashes_that_are_none_are_refused(hashes):
    with pytest.raises(StateFormatError, match="hashes"):
        IdsSeen.from_dict({"hashes": hashes, "forgotten": 0})
