"""recveil mechanisms [NAME]: the catalogue, from the classes."""

from textwrap import wrap
from typing import Annotated, Any

from recveil.cli.arguments import Json, answer
from recveil.errors import unknown
from recveil.options import Argument


def mechanisms(
    name: Annotated[str | None, Argument(metavar="NAME", help="One mechanism, with its parameters.")] = None,
    as_json: Json = False,
) -> None:
    """Every mechanism: what it is for and what it promises; of one, its parameters with defaults and rules.

    Example: recveil mechanisms dp-streams
    """
    from recveil.mechanisms import known_mechanisms
    from recveil.mechanisms.describe import describe

    known = known_mechanisms()
    if name is not None and name not in known:
        raise unknown("mechanism", name, known)
    if name is not None:
        found = describe(known[name])
        answer(found, _one(found), as_json)
        return
    every = [describe(mechanism) for mechanism in known.values()]
    answer({"mechanisms": every}, _all(every), as_json)


def _all(every: list[dict[str, Any]]) -> list[str]:
    width = max(len(found["name"]) for found in every)
    lines = [f"{'name':<{width}}  {'promise':<14}  for"]
    for found in every:
        promise = found["promise"]["status"] + (f", {found['promise']['unit']}" if found["promise"]["unit"] else "")
        first, *rest = wrap(found["for"] or found["does"], 90)
        lines += [f"{found['name']:<{width}}  {promise:<14}  {first}", *(" " * (width + 18) + line for line in rest)]
    best = "; ".join(f"{found['best_for']}: {found['name']}" for found in every if found["best_for"])
    return [*lines, "", f"with a proof, what keeps most of {best}"]


def _one(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['name']}: {found['for']}", *wrap(found["does"], 110), ""]
    for p in found["parameters"]:
        default = "required" if p["required"] else f"default {p['default']}"
        lines.append(f"  {p['name']:<10} {p['about']} ({default}{'; ' + p['rule'] if p['rule'] else ''})")
    if not found["parameters"]:
        lines.append("  no parameters")
    kinds, needs = ", ".join(found["kinds"]) or "any data", ", ".join(found["needs"])
    promise = found["promise"]
    lines += [
        "",
        *([f"of those with a proof it keeps most of {found['best_for']}"] if found["best_for"] else []),
        f"made for {kinds}" + (f"; needs a {needs} column" if needs else ""),
        "runs on Spark" if found["spark"] == "yes" else f"does not run on Spark: {found['spark']}",
        f"example: --with {found['example']}",
        f"promise of the example ({promise['status']}): {promise['sentence']}",
    ]
    return lines
