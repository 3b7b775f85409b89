#!/usr/bin/env python3
"""One definition: two headers define no type of the same name in the same namespace. Programs link all components, and of the functions
that a compiler writes for such types, or of std::vector<T>, the linker takes those of one. Prints one line per name.

The compiler sees such types only where it optimizes a whole program at its link (-Wodr), which takes minutes."""
import collections
import re

import sources

# clang-format leaves namespaces and what is in them at the beginning of lines, and marks the ends of those with more than a declaration.
LINE = re.compile(r"namespace (?:([\w:]+) )?\{$|(\}  // namespace)|(?:struct|class|enum|enum class) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: [:{].*)?$")


def defined(text):
    """Names of the types that are defined in named namespaces, with these."""
    scopes: list[str | None] = []
    names: list[str] = []
    for line in re.sub(r"^namespace [\w:]+ \{\n[^{}]*\n\}$", "", text, flags=re.M).splitlines():
        if not (match := LINE.match(line)):
            continue
        if match[2]:
            scopes.pop()
        elif not match[3]:
            scopes.append(match[1])
        elif None not in scopes and ("{" in line or not line.endswith(";")):
            names.append("::".join([*filter(None, scopes), match[3]]))
    assert not scopes, f"{scopes[-1]} has no end that is marked"
    return names


def main():
    places = collections.defaultdict(set)
    for name in sources.headers("runtime/*.h", "compiler/*.h") or []:
        for defines in defined((sources.ROOT / name).read_text()):
            places[defines].add(name)
    for name, files in sorted(places.items()):
        if len(files) > 1:
            print(f"{name}: {', '.join(sorted(files))}")


if __name__ == "__main__":
    main()
