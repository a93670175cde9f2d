"""Keys that lie elsewhere: a real SSH agent signs by its protocol, a real token (SoftHSM) by PKCS#11."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recveil.errors import RecveilError
from recveil.releases.keys import file_key, load_key, new_key, unlocked_beside
from recveil.releases.signing import seal, unseal

Run = Callable[..., Any]
SOFTHSM = next((p for p in Path("/usr/lib").glob("**/softhsm/libsofthsm2.so")), None)


def holds(name: str, pin: str | None = None) -> str:
    """That what the key seals is opened again, under the same fingerprint."""
    signer = load_key(name, lambda: pin)
    opened = unseal(seal({"predicate": {"facts": 1}}, signer))
    assert opened.fingerprint == signer.fingerprint
    return signer.fingerprint


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent here (apt-get install openssh-client)")
    place = tmp_path / "agent.sock"
    started = subprocess.run(["ssh-agent", "-a", str(place), "-s"], capture_output=True, text=True, check=True)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
    yield tmp_path
    os.kill(int(started.stdout.split("SSH_AGENT_PID=")[1].split(";")[0]), signal.SIGTERM)


def add(folder: Path, comment: str, kind: str = "ed25519") -> None:
    file = folder / f"id_{comment.replace(' ', '_')}"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", str(file)], check=True)
    subprocess.run(["ssh-add", "-q", str(file)], check=True, stderr=subprocess.DEVNULL)
    file.unlink()


def test_an_ssh_agent_signs_and_its_key_is_nowhere(agent: Path, recveil: Run) -> None:
    with pytest.raises(RecveilError, match="has no Ed25519 key"):
        load_key("agent:")
    add(agent, "other", "ecdsa")
    add(agent, "jane@house")
    print_ = holds("agent:jane@house")
    assert holds("agent:") == holds(f"agent:{print_[:12]}") == print_
    add(agent, "jane second")
    with pytest.raises(RecveilError, match="2 keys that fit"):
        load_key("agent:")
    assert recveil("keys", "show", "agent:jane second").stdout.strip() == holds("agent:jane second")
    assert "has no Ed25519 key 'nobody'" in recveil("keys", "show", "agent:nobody", code=1).stderr


def test_an_agent_that_is_none_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(RecveilError, match="no SSH agent is running"):
        load_key("agent:")
    for said in (b"", b"\0\0\0\1\5", b"\0\0\0\5\x0c\0\0\0\1", b"\xff\xff\xff\xff"):
        place = tmp_path / f"{len(said)}.sock"
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        with pytest.raises(RecveilError, match="does not answer"):
            load_key("agent:")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place))
            server.listen()

            def answer(server: socket.socket = server, said: bytes = said) -> None:
                with server.accept()[0] as one:
                    one.recv(100)
                    one.sendall(said)

            thread = threading.Thread(target=answer)
            thread.start()
            with pytest.raises(RecveilError, match="SSH agent"):
                load_key("agent:")
            thread.join()


def test_a_locked_key_opens_with_its_passphrase_alone(tmp_path: Path) -> None:
    print_ = new_key(tmp_path / "a.key", "a long one")
    assert holds(str(tmp_path / "a.key"), "a long one") == print_
    with pytest.raises(RecveilError, match="not its passphrase"):
        file_key(tmp_path / "a.key", lambda: "another")
    with pytest.raises(RecveilError, match="needs its passphrase"):
        file_key(tmp_path / "a.key")
    other = new_key(tmp_path / "b.key")
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    assert unlocked_beside(tmp_path / "a.key") == {other: "b.key"}
    assert unlocked_beside(tmp_path / "b.key") == {}


def test_a_token_that_cannot_be_is_one_clear_line(tmp_path: Path) -> None:
    pytest.importorskip("pkcs11", reason="the extra `token` is not installed")
    with pytest.raises(RecveilError, match="lacks object, module-path"):
        load_key("pkcs11:token=a")
    with pytest.raises(RecveilError, match="no PKCS#11 module"):
        load_key(f"pkcs11:token=a;object=b?module-path={tmp_path}/none.so")


@pytest.mark.extras
def test_a_token_signs_and_its_key_never_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pkcs11 = pytest.importorskip("pkcs11", reason="the extra `token` is not installed")
    if SOFTHSM is None:
        pytest.skip("SoftHSM is not installed (apt-get install softhsm2)")
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path}/tokens\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
    start = ["softhsm2-util", "--init-token", "--free", "--label", "house", "--pin", "1234", "--so-pin", "5678"]
    subprocess.run(start, check=True, capture_output=True)
    from pkcs11.util.ec import encode_named_curve_parameters

    with pkcs11.lib(str(SOFTHSM)).get_token(token_label="house").open(rw=True, user_pin="1234") as session:
        about = {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters("1.3.101.112")}
        curve = session.create_domain_parameters(pkcs11.KeyType.EC_EDWARDS, about, local=True)
        curve.generate_keypair(mechanism=pkcs11.Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label="dpo")
    name = f"pkcs11:token=house;object=dpo?module-path={SOFTHSM}"
    holds(name, "1234")
    for wrong, pin, words in (
        (name, "0000", "not its PIN"),
        (name, None, "needs its PIN"),
        (name.replace("object=dpo", "object=none"), "1234", "no such key"),
        (name.replace("token=house", "token=none"), "1234", "no such token"),
    ):
        with pytest.raises(RecveilError, match=words):
            holds(wrong, pin)
