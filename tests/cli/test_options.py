"""An option is spelled once: a field of a request is the option, the keyword and the part of a screen's command."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, get_args

import pytest

import recveil as package
from recveil.cli import app
from recveil.cli.commands import Command
from recveil.options import Request, command_line, made, options_of

GIVEN: dict[str, dict[str, Any]] = {
    "assess": {"source": "a log.csv", "columns": "user=uid", "known": (2, 4), "memory": "4GB", "seed": 1},
    "measure": {
        "source": "log.csv",
        "release": "out",
        "holdout": "held.parquet",
        "known": (2, 8),
        "ratings": False,
        "only": ("linkage", "lift"),
        "shadows": 4,
        "items": "items.csv",
    },
    "compare": {"source": "log.csv", "candidates": ("mask:p=0.9", "blur"), "releases": ("a b.csv",), "quick": True},
    "tune": {"source": "log.csv", "spec": "mask", "keep": "lift>=0.7", "people": 100, "on_data": True},
    "release": {"source": "log.csv", "mechanism": "mask:p=0.9", "out": "out", "size": "people=9,items=9,rows=9"},
    "recommend": {"source": "log.csv", "mechanism": "mask", "top": 5, "score": "sum", "catalogue_is_public": True},
    "audit": {"mechanism": "mask:p=0.9", "data": "log.csv", "one_run": True, "confidence": 0.9},
    "predict": {"bundle": "out", "history": "mine.csv", "top": 3},
}


def request_of(command: Command) -> Any:
    """The class of the request that a command takes."""
    asked_for = [get_args(p.annotation) for p in inspect.signature(command._function).parameters.values()]
    (found,) = [(kind, spelled) for kind, spelled in asked_for if isinstance(spelled, Request)]
    return getattr(import_module(found[1].module), found[0].__forward_arg__)


@pytest.mark.parametrize("name", GIVEN)
def test_a_request_comes_back_from_the_line_that_spells_it(name: str) -> None:
    command = app.commands[name]
    assert isinstance(command, Command)
    request = request_of(command)
    line = shlex.split(command_line(name, request, **GIVEN[name]))
    assert line[:2] == ["recveil", name]
    found = command.make_context(name, line[2:]).params
    own = {one.name for one, _ in options_of(request)}
    assert made(request, {k: v for k, v in found.items() if k in own}) == made(request, GIVEN[name])


@pytest.mark.parametrize("name", GIVEN)
def test_each_field_of_a_request_has_its_help_where_it_is_spelled(name: str) -> None:
    command = app.commands[name]
    assert isinstance(command, Command)
    for one, spelling in options_of(request_of(command)):
        assert spelling.help.endswith("."), one.name
    silent = [f.name for f in fields(request_of(command)) if f.metadata.get("option") is None]
    assert set(silent) <= {"cache", "key", "strict"}  # objects, which no text spells


def test_no_public_function_hides_what_it_takes() -> None:
    hiding = set()
    for name in package.__all__:
        public = getattr(package, name)
        if inspect.isfunction(public) and not is_dataclass(public):
            kinds = {p.name for p in inspect.signature(public).parameters.values() if p.kind is p.VAR_KEYWORD}
            hiding |= {f"{name}({one})" for one in kinds}
    assert hiding <= {"release(parameters)", "fit(parameters)"}, hiding  # those of the mechanism that is named


def test_a_seed_where_nothing_is_drawn_is_answered(recveil: Callable[..., Any]) -> None:
    assert "--seed does nothing here" in recveil("verify", "no-such", "--seed", 1, code=1).stderr
    assert "--seed" not in recveil("verify", "--help").stdout


def test_old_meanings_of_items_say_the_new_option(recveil: Callable[..., Any]) -> None:
    said = recveil("measure", "no-such.csv", "no-such", "--items", "rare", code=1).stderr
    assert "which items an attacker knows is --known-items" in said
    said = recveil("tune", "no-such.csv", "--with", "mask", "--items", 40, code=1).stderr
    assert "the size of a twin is --twin-items" in said


def test_a_list_is_spelled_as_a_tuple_is() -> None:
    from recveil.actions.assess import AssessRequest

    assert command_line("assess", AssessRequest, source="a", known=[2, 4]) == "recveil assess a --known 2,4"


def test_an_option_that_a_request_has_not_is_no_part_of_a_line() -> None:
    from recveil.actions.assess import AssessRequest

    with pytest.raises(AssertionError, match="recveil assess has no strength"):
        command_line("assess", AssessRequest, source="log.csv", strength=3)
