#!/usr/bin/env python3
"""One definition: two headers define no type of the same name in the same namespace. Programs link all components, and of the functions
that a compiler writes for such types, or of std::vector<T>, the linker takes those of one. Prints one line per name."""
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = re.compile(r"namespace\s*([\w:]*)\s*\{")
# A definition at the beginning of a line, which may end behind its bases on the next one; not that of a class within another.
TYPE = re.compile(r"(?:struct|class|enum(?:\s+class)?)\s+(?:alignas\(\w+\)\s*)?(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{")
SPECIALIZED = re.compile(r"(?:struct|class)\s+[\w:]*<|(?:struct|class)\s+\w+::")


def without_comments(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(?:\\.|[^'\\\n])'", "''", text)
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)


def defined(text):
    """Names of the types that are defined in named namespaces, with these."""
    text = without_comments(text)
    scopes, at, names = [], 0, []
    while at < len(text):
        if match := NAMESPACE.match(text, at):
            scopes.append(match[1])
            at = match.end()
        elif (match := TYPE.match(text, at)) and not SPECIALIZED.match(text, at) and (at == 0 or not re.match(r"\w", text[at - 1])):
            if "" not in scopes and None not in scopes:
                names.append("::".join([*scopes, match[1]]))
            scopes.append(None)
            at = match.end()
        else:
            if text[at] == "{":
                scopes.append(None)
            elif text[at] == "}" and scopes:
                scopes.pop()
            at += 1
    return names


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "runtime/*.h", "compiler/*.h"], cwd=ROOT, capture_output=True, text=True, check=True)
    places = collections.defaultdict(set)
    for name in filter(lambda n: (ROOT / n).is_file(), listed.stdout.split()):
        for defines in defined((ROOT / name).read_text()):
            places[defines].add(name)
    for name, files in sorted(places.items()):
        if len(files) > 1:
            print(f"{name}: {', '.join(sorted(files))}")


if __name__ == "__main__":
    main()
