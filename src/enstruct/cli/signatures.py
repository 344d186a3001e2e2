"""What a class says of itself, read from its source file: nothing of what it imports is imported for it.

The options of a command and its help can so be told, and a slip refused, before torch is there.
"""

from __future__ import annotations

import ast
from pkgutil import get_data
from typing import Any, TypeVar

Node = TypeVar("Node", ast.ClassDef, ast.FunctionDef)


def class_of(package: str, module: str, name: str) -> type:
    """A stand-in for a class: its name, its docstring and the signature of its constructor.

    ``module`` : below the package, as "estimators.tagger". LookupError if the class, or a constructor in it, is not there;
    NameError for annotations of other than Python's own types and Any.
    """
    source = get_data(package, f"{module.replace('.', '/')}.py")
    if source is None:
        raise LookupError(f"{package}.{module} has no source file.")
    definition = _named(ast.parse(source).body, ast.ClassDef, name)
    constructor = _named(definition.body, ast.FunctionDef, "__init__")
    constructor.body, constructor.decorator_list = [ast.Pass()], []
    doc = [node for node in definition.body[:1] if isinstance(node, ast.Expr)]
    definition.bases, definition.keywords, definition.decorator_list, definition.body = [], [], [], [*doc, constructor]
    stand_in = ast.fix_missing_locations(ast.Module([definition], type_ignores=[]))
    names: dict[str, Any] = {"Any": Any, "__name__": "builtins"}  # jsonargparse imports the module that it says it is of
    exec(compile(stand_in, f"{package}.{module}", "exec", dont_inherit=True), names)  # annotations as types, not as text
    return names[name]


def _named(nodes: list[ast.stmt], kind: type[Node], name: str) -> Node:
    for node in nodes:
        if isinstance(node, kind) and node.name == name:
            return node
    raise LookupError(f"There is no {name} in the source.")
