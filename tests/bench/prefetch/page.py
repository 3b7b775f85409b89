"""The page of curves: plain SVG in one HTML file that needs nothing else. Published figures of others are named in words, never drawn."""
import html
import math
from collections.abc import Callable
from typing import Any

COLOURS = ["#1b6ca8", "#c8553d", "#2e8b57", "#8e5ea2", "#b8860b", "#555555", "#d46a9f"]
WIDTH, HEIGHT, LEFT, BOTTOM = 460, 260, 60, 40


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    step = 10 ** math.floor(math.log10((high - low) / n or 1))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= n:
            step *= factor
            break
    first = math.ceil(low / step)
    return [k * step for k in range(first, int(high / step) + 1)]


def plot(title: str, x_name: str, y_name: str, series: dict) -> str:
    """`series`: name -> [(x, y)]."""
    points = [p for line in series.values() for p in line]
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y1 = max(p[1] for p in points) * 1.05 or 1
    x1 = x1 if x1 > x0 else x0 + 1

    def at(x: float, y: float) -> tuple[float, float]:
        return LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - 10), HEIGHT - BOTTOM - y / y1 * (HEIGHT - BOTTOM - 30)

    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 18 * len(series)}" width="{WIDTH}"><text x="{LEFT}" y="16" class="t">{html.escape(title)}</text>']
    for x in ticks(x0, x1):
        px, py = at(x, 0)
        out.append(f'<text x="{px:.1f}" y="{py + 15:.1f}" text-anchor="middle">{x:g}</text>')
    for y in ticks(0, y1):
        px, py = at(x0, y)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{py:.1f}" y2="{py:.1f}" class="g"/><text x="{LEFT - 4}" y="{py + 4:.1f}" text-anchor="end">{y:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(x_name)}</text>')
    out.append(f'<text x="12" y="{HEIGHT / 2}" transform="rotate(-90 12 {HEIGHT / 2})" text-anchor="middle">{html.escape(y_name)}</text>')
    for n, (name, line) in enumerate(series.items()):
        colour = COLOURS[n % len(COLOURS)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(*p) for p in sorted(line)))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = HEIGHT + 12 + 18 * n
        out.append(f'<line x1="{LEFT}" x2="{LEFT + 20}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/><text x="{LEFT + 26}" y="{y}">{html.escape(name)}</text>')
    return "".join(out) + "</svg>"


def curves(rows: list[dict], experiment: str, x: str, y: str, name: Callable[[dict], str], scale: float = 1.0) -> dict:
    series: dict = {}
    for r in rows:
        if r["experiment"] == experiment:
            at = r[x] if isinstance(r[x], (int, float)) else {"off": 0, "auto": 20}[r[x]]
            series.setdefault(name(r), []).append((at, r[y] * scale))
    return series


def render(rows: list[dict]) -> str:
    network = "{latency} {bandwidth}".format
    plots = [
        ("Hit ratio over the length of the range", "index length", "hit ratio", curves(rows, "length", "length", "hit_ratio", lambda r: f"{network(**r)}, look-ahead {r['look_ahead']}")),
        ("Mean wait over the length of the range", "index length", "us per access", curves(rows, "length", "length", "mean_wait", lambda r: f"{network(**r)}, look-ahead {r['look_ahead']}", 1e6)),
        ("Wall time over look-ahead (auto at 20)", "blocks ahead", "ms", curves(rows, "depth", "look_ahead", "wall", lambda r: f"{network(**r)}, {r['length']} x {r['segment']}", 1e3)),
        ("First wait over look-ahead (auto at 20)", "blocks ahead", "us", curves(rows, "depth", "look_ahead", "first_wait", lambda r: f"{network(**r)}, {r['length']} x {r['segment']}", 1e6)),
        ("Mean wait over block size", "segment extent", "us per access", curves(rows, "blocks", "segment", "mean_wait", lambda r: f"look-ahead {r['look_ahead']}", 1e6)),
        ("Mean wait over servers", "servers", "us per access", curves(rows, "servers", "servers", "mean_wait", lambda r: f"{r['ranks']} ranks, look-ahead {r['look_ahead']}", 1e6)),
    ]
    drawn = "".join(plot(*p) for p in plots if p[3])
    shown = ["experiment", "program", "clock", "options", "ranks", "servers", "latency", "bandwidth", "segment", "length", "look_ahead", "hit_ratio", "mean_wait", "wall"]

    def cell(value: Any) -> str:
        return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))

    table = "".join("<tr>" + "".join(f"<td>{cell(r.get(c, ''))}</td>" for c in shown) + "</tr>" for r in rows)
    return ('<!doctype html><meta charset="utf-8"><title>sialx: look-ahead</title><style>body{font:14px sans-serif;margin:2em;max-width:1000px}svg{margin:8px}'
            "svg text{font:11px sans-serif}svg .t{font-weight:bold;font-size:13px}.g{stroke:#ddd}table{border-collapse:collapse}td,th{padding:1px 8px;border-bottom:1px solid #eee}"
            "</style><h1>Look-ahead and copies</h1><p>Virtual clock of the simulated transport unless a row says mpi; those are from a shared machine and noisy. For comparison, an "
            "implementation in the field reports (University of Florida thesis on prefetching in the Super Instruction Architecture) mean waits halved at index length 5 and a third above 9, "
            "no effect at length 1, and a first wait that grows linearly with look-ahead.</p>" + drawn + "<table><tr>" + "".join(f"<th>{c}</th>" for c in shown) +
            f"</tr>{table}</table>\n")
