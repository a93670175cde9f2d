"""Commands from functions: a parameter that is an option is one, and a request is all that it asks for."""

from collections.abc import Callable
from dataclasses import MISSING, is_dataclass
from inspect import Parameter, cleandoc, signature
from typing import Any, get_args, get_origin

import click

from recveil.errors import RecveilError
from recveil.options import Argument, Option, made, options_of

Function = Callable[..., None]
CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
KINDS: dict[str, Any] = {"int": click.INT, "float": click.FLOAT, "bool": click.BOOL, "str": click.STRING}


class Group(click.Group):
    """A command of several; without one of them it shows its help."""

    def __init__(self, name: str, help: str, **settings: Any) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings=dict(CONTEXT), **settings)

    def adds(self, name: str = "", **settings: Any) -> Callable[[Function], Function]:
        """A function becomes a command of this group, under its own name or another."""

        def add(function: Function) -> Function:
            self.add_command(command_of(function, name, **settings))
            return function

        return add


def command_of(function: Function, name: str = "", **settings: Any) -> click.Command:
    """The command that calls a function."""
    parameters: list[click.Parameter] = []
    requests: dict[str, tuple[Any, list[str]]] = {}
    for one in signature(function, eval_str=True).parameters.values():
        if is_dataclass(one.annotation):
            asked = [(f.name, _parameter(f.name, str(f.type), f.default, s)) for f, s in options_of(one.annotation)]
            parameters += [found for _, found in asked]
            requests[one.name] = (one.annotation, [field for field, _ in asked])
        else:
            kind, spelling = get_args(one.annotation)
            default = MISSING if one.default is Parameter.empty else one.default
            parameters.append(_parameter(one.name, _text(kind), default, spelling))

    def call(**given: Any) -> None:
        for into, (request, names) in requests.items():
            given[into] = made(request, {field: given.pop(field) for field in names})
        function(**given)

    return click.Command(
        name or function.__name__, callback=call, params=parameters, help=cleandoc(function.__doc__ or ""),
        context_settings=CONTEXT | settings,
    )  # fmt: skip


def _text(kind: Any) -> str:
    """An annotation as it is written."""
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)


def _parameter(name: str, kind: str, default: Any, spelling: Option) -> click.Parameter:
    """An option or argument of click: what a type says decides how its text is read."""
    bare = kind.removesuffix(" | None")
    facts: dict[str, Any] = {"help": spelling.help, "metavar": spelling.metavar, **spelling.facts}
    several = bare.startswith("list[") or bool(spelling.once)
    low, high = facts.pop("min", None), facts.pop("max", None)
    facts["type"] = KINDS.get(bare, click.STRING)
    if low is not None or high is not None:
        facts["type"] = (click.IntRange if bare == "int" else click.FloatRange)(low, high)
    if default is not MISSING:
        facts["default"] = default
    if isinstance(spelling, Argument):
        shown = f"{spelling.metavar}..." if several else spelling.metavar
        facts["metavar"] = shown if default is MISSING else f"[{shown}]"
        return click.Argument([name], nargs=-1 if several else 1, required=default is MISSING, **facts)
    if default is MISSING:
        facts["required"] = True
    reading = _reading(bare, spelling.spelled(name), spelling.once)
    if reading is not None and "callback" not in facts:
        facts["callback"] = lambda _context, _parameter, value: reading(value)
    names = spelling.names or (spelling.spelled(name),)
    if bare == "bool":
        return click.Option([name, *names], is_flag=True, **{n: v for n, v in facts.items() if n != "type"})
    return click.Option([name, *names], multiple=several, show_envvar=True, **facts)


def _reading(kind: str, option: str, once: str) -> Callable[[Any], Any] | None:
    """What becomes of the text of an option before a function gets it."""
    if once:
        return lambda values: _single(values, option, once)
    if kind.startswith("list["):
        return lambda values: list(values) or None
    if kind == "tuple[int, ...]":
        return lambda text: numbers(text, option)
    return names if kind == "tuple[str, ...]" else None


def _single(values: Any, option: str, why: str) -> Any:
    given = list(dict.fromkeys(values or ()))
    if len(given) > 1:
        raise RecveilError(f"{option} was given {len(given)} times; {why}")
    return given[0] if given else None


def names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip())) if text else None


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    """Whole numbers separated by commas."""
    try:
        return tuple(int(part) for part in text.split(",")) if text else None
    except ValueError:
        raise RecveilError(f"{option} takes whole numbers such as 2,4,8, not {text!r}") from None
