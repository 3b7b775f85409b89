"""A folder of measured speeds with which small jobs are predicted to take long, so that their segments are searched for."""
from __future__ import annotations

import json
import pathlib
import re
import subprocess


def slow_processor(binary: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """The environment in which `sialrun` finds it. `folder`: a new one, for its cache."""
    version = subprocess.run([binary, "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    processor = re.search("^processor: (.*)$", version, re.M)
    assert processor, f"sialrun --version --verbose names no processor: {version}"
    speed = {"format": "sialx speed", "version": 2, "processor": processor[1],
             "cycles": 2e5, "l2_rate": 6e6, "l3_rate": 5e6, "memory_rate": 2e6}
    cache = folder / "sialx"
    cache.mkdir(parents=True)
    (cache / "speed.json").write_text(json.dumps(speed))
    return {"XDG_CACHE_HOME": str(folder)}
