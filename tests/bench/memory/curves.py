"""The page of curves: page.html with the results in it. One file that needs nothing else."""
import json
import pathlib
from typing import Any

TEMPLATE = pathlib.Path(__file__).resolve().parent / "page.html"


def render(result: dict[str, Any]) -> str:
    data = json.dumps(result).replace("<", "\\u003c")  # no text of a job can end the script
    return TEMPLATE.read_text().replace("/*RESULT*/null", data)
