"""Load an example by its folder: examples are scripts, not part of the package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(folder: str) -> ModuleType:
    """Import `examples/FOLDER/agent.py` under a name of its own."""
    name = f"example_{folder}"
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / folder / "agent.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
