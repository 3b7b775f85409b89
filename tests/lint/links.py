#!/usr/bin/env python3
"""Relative links of all pages: the file must exist, and a heading of that name where the link names one. Prints one line per dead link."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def lines_outside_code(text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """The names that GitHub gives to headings: a second heading of one name gets `-1` behind it."""
    seen: dict[str, int] = {}
    for _, line in lines_outside_code(text):
        match = HEADING.match(line)
        if not match:
            continue
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).lower()
        name = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        n = seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{n}" if n else name


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    pages = {ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    texts = {page: page.read_text() for page in pages}
    headings = {page: set(anchors(text)) for page, text in texts.items()}
    for page in sorted(pages):
        for number, line in lines_outside_code(texts[page]):
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                if not file.exists() or (anchor and file in headings and anchor not in headings[file]):
                    print(f"{page.relative_to(ROOT)}:{number}: {target}")


main()
