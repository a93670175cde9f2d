"""Keys of an SSH agent: the private key stays where it is (also on a card), and the agent signs.

The protocol is that of draft-ietf-sshm-ssh-agent: one length, one byte for the kind, then strings with lengths.
"""

from __future__ import annotations

import base64
import os
import socket
import struct

from recveil.errors import RecveilError
from recveil.releases.signing import Ask, Signer, fingerprint

LIST, LISTED, SIGN, SIGNED = 11, 12, 13, 14
ED25519 = b"ssh-ed25519"
PATIENCE = 60.0  # seconds: a card may wait for a finger
MOST = 1 << 20


def agent_key(name: str, _: Ask = lambda: None) -> Signer:
    """The Ed25519 key of the agent whose comment, or whose fingerprint's beginning, stands after `agent:`."""
    wanted = name.removeprefix("agent:")
    keys = [(raw, blob, comment) for raw, blob, comment in _keys() if _is(wanted, raw, comment)]
    if not keys:
        raise RecveilError(f"the SSH agent has no Ed25519 key {wanted!r}; ssh-add -l lists those that it has")
    if len(keys) > 1:
        raise RecveilError(
            f"the SSH agent has {len(keys)} keys that fit {name!r}; name one: agent:{fingerprint(keys[0][0])[:16]}"
        )
    raw, blob, _comment = keys[0]
    return Signer(fingerprint(raw), base64.b64encode(raw).decode(), lambda data: _signed(blob, data))


def _is(wanted: str, raw: bytes, comment: str) -> bool:
    return not wanted or wanted == comment or (len(wanted) >= 8 and fingerprint(raw).startswith(wanted.lower()))


def _keys() -> list[tuple[bytes, bytes, str]]:
    """The public key, the blob that names it to the agent, and the comment of each Ed25519 key."""
    answer = _asked(LIST, b"", LISTED)
    found, rest = [], answer[4:]
    for _ in range(struct.unpack(">I", answer[:4])[0]):
        blob, rest = _string(rest)
        comment, rest = _string(rest)
        kind, key = _string(blob)
        if kind == ED25519:
            found.append((_string(key)[0], blob, comment.decode(errors="replace")))
    return found


def _signed(blob: bytes, data: bytes) -> bytes:
    answer = _asked(SIGN, _packed(blob) + _packed(data) + struct.pack(">I", 0), SIGNED)
    kind, rest = _string(_string(answer)[0])
    signature = _string(rest)[0]
    if kind != ED25519 or len(signature) != 64:
        raise RecveilError("the SSH agent answered with another kind of signature; nothing was signed")
    return signature


def _asked(kind: int, body: bytes, expected: int) -> bytes:
    """What the agent answers, without its kind."""
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        raise RecveilError("no SSH agent is running here (SSH_AUTH_SOCK is not set); start one, or name a key file")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
            agent.settimeout(PATIENCE)
            agent.connect(path)
            agent.sendall(struct.pack(">IB", len(body) + 1, kind) + body)
            length = struct.unpack(">I", _read(agent, 4))[0]
            if not 1 <= length <= MOST:
                raise OSError("its answer is no answer")
            answer = _read(agent, length)
    except OSError as why:
        raise RecveilError(f"the SSH agent does not answer: {why.strerror or why}") from None
    if answer[0] != expected:
        raise RecveilError("the SSH agent refused to sign; unlock it, or add the key again with ssh-add")
    return answer[1:]


def _read(agent: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = agent.recv(length - len(found))
        if not part:
            raise OSError("it hung up")
        found += part
    return found


def _packed(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


def _string(data: bytes) -> tuple[bytes, bytes]:
    """A string with its length before it, and what follows."""
    length = struct.unpack(">I", data[:4])[0] if len(data) >= 4 else MOST
    if len(data) < 4 + length:
        raise RecveilError("the SSH agent answered with half a message")
    return data[4 : 4 + length], data[4 + length :]
