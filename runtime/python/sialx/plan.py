"""What a job will need, before it runs: memory, and the predicted time."""

from __future__ import annotations

import dataclasses
import html
import re

_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What `sialrun --dry-run` foresees.

    text: all that it prints. fits: whether the blocks of a rank fit into its memory. peak_bytes: of a rank's blocks at the fullest, to three digits.
    seconds: predicted time of the job, None where it is not predicted; of_programs: of each of its programs.
    """

    text: str
    fits: bool
    peak_bytes: float | None
    seconds: float | None
    of_programs: dict[str, float]

    @classmethod
    def of(cls, text: str, fits: bool) -> Plan:
        peaks = [_bytes(number, unit) for number, unit in re.findall(r"^ *peak ([\d.]+) (k|M|G|T|P)?(?:B|bytes) per rank", text, re.M)]
        found = re.search(r"^predicted time: ([\d.e+-]+) s(?: \((.*)\))?", text, re.M)
        parts = re.findall(r"(\S+) ([\d.e+-]+) s", found.group(2) or "") if found else []
        return cls(text, fits, max(peaks, default=None), float(found.group(1)) if found else None, {name: float(seconds) for name, seconds in parts})

    def __repr__(self) -> str:
        need = "unknown memory" if self.peak_bytes is None else f"{self.peak_bytes / 1e6:.3g} MB per rank"
        time = "" if self.seconds is None else f", {self.seconds:.3g} s predicted"
        return f"<Plan: {need}, {'fits' if self.fits else 'does not fit'}{time}; .text has all>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _bytes(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit or ""]
