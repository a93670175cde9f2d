"""Where chance comes from: OS entropy for real releases, a seed for experiments; streams are derived from names.

A Source is a 256-bit key. `derive` hashes a name into a new key, so that every part of a mechanism has a stream of its
own and neither threads, chunks nor engines change what is drawn. Numpy's generators are not cryptographic: whoever sees
enough of a release could undo them. ChaCha is, and it can be restated inside a kernel (kernels/chacha.py), where a
generator object per record would cost thirty microseconds each.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Source:
    """A secret key from which all randomness of a run derives. It is never shown, not even in a repr."""

    _key: bytes = field(repr=False)
    seeded: bool

    def derive(self, *name: str | int) -> Source:
        """The source that belongs to this name; other names give independent ones."""
        path = "\0".join(f"{type(part).__name__}:{part}" for part in name)
        return Source(blake2b(path.encode(), key=self._key, digest_size=32).digest(), self.seeded)

    def key(self) -> NDArray[np.uint64]:
        """The key as four words, for kernels that number their own streams."""
        return np.frombuffer(self._key, dtype="<u8").astype(np.uint64)

    def generator(self) -> np.random.Generator:
        """A cryptographic numpy generator: stream number 0 of this key."""
        from randomgen import ChaCha

        return np.random.Generator(ChaCha(key=self.key(), counter=0, rounds=12))

    def names(self, ids: Iterable[object]) -> NDArray[np.int64]:
        """A random 63-bit number for each id: a keyed hash, the same wherever it is computed."""
        digests = b"".join(blake2b(str(i).encode(), key=self._key, digest_size=8).digest() for i in ids)
        return (np.frombuffer(digests, dtype="<u8") >> np.uint64(1)).astype(np.int64)

    def words(self, n: int) -> NDArray[np.uint64]:
        """n random 64-bit words."""
        return np.frombuffer(self.generator().bytes(8 * n), dtype="<u8").astype(np.uint64)


def entropy() -> Source:
    """For real releases: a key from the operating system that exists nowhere else and is gone with the process."""
    return Source(secrets.token_bytes(32), seeded=False)


def seeded(seed: int) -> Source:
    """For experiments: whoever guesses the seed undoes the noise, so nothing drawn from it may be published."""
    return Source(blake2b(f"recveil:{seed}".encode(), digest_size=32).digest(), seeded=True)


def source(seed: int | None) -> Source:
    """`seeded` if a seed is given, else `entropy`."""
    return entropy() if seed is None else seeded(seed)
