#!/usr/bin/env python3
"""Vim and Emacs on the examples, without a screen: their highlighting against the compiler's tokens, their indentation and Vim's formatting against `sialc format`, what Vim's `:make` lists
against `sialc --error-format=json`.

    run_editors.py vim|emacs --bin DIR
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, SKIPPED

HERE = pathlib.Path(__file__).resolve().parent
EDITORS = HERE.parents[1] / "grammar" / "editors"
sys.path.insert(0, str(HERE))

import compiler_tokens  # noqa: E402

NAMES = ["", "sialFunction", "sialSuper", "sialInspection"]
VIM = {"keyword": ["sialProgram", "sialControl", "sialType", "sialStorage", "sialStatement", "sialRoot", "sialReserved"], "name": NAMES, "string": ["sialString"], "number": ["sialNumber"],
       "sign": ["sialOperator", ""], "comment": ["sialComment"]}
EMACS = {"keyword": ["font-lock-keyword-face", "font-lock-type-face"], "name": ["", "font-lock-function-name-face", "font-lock-builtin-face"], "string": ["font-lock-string-face"],
         "number": ["font-lock-constant-face"], "sign": [""], "comment": ["font-lock-comment-delimiter-face", "font-lock-comment-face"]}


def columns(text, tokens):
    """(line, first byte from 1, first character from 0) of each token."""
    lines, last, rest, out = compiler_tokens.lines_of(text), 0, 0, []
    for number, _, written in tokens:
        if number != last:
            last, rest = number, 0
        at = lines[number - 1].index(written, rest)
        rest = at + len(written)
        out.append((number, len(lines[number - 1][:at].encode()) + 1, at))
    return out


def run_vim(editor, work, inputs):
    script = ["set nocompatible encoding=utf-8", f"set runtimepath={EDITORS / 'vim'},$VIMRUNTIME", "filetype plugin indent on", "syntax on", "let out = []"]
    for i, (text, _, places) in enumerate(inputs):
        (work / f"p{i}.sialx").write_text(text)
        (work / f"flat{i}.sialx").write_text("\n".join(line.strip() for line in text.split("\n")))
        script += [f"edit p{i}.sialx", "call add(out, &filetype)", f"for p in {json.dumps([p[:2] for p in places])}", "call add(out, synIDattr(synID(p[0], p[1], 1), 'name'))", "endfor",
                   f"edit flat{i}.sialx", "normal gg=G", "update"]
    (work / "script.vim").write_text("\n".join([*script, "call writefile(out, 'groups')", "qa!"]) + "\n")
    subprocess.run([editor, "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "script.vim"], cwd=work, check=True, timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    groups = iter((work / "groups").read_text().split("\n"))
    for i, (_, _, places) in enumerate(inputs):
        assert next(groups) == "sial", "the type of file was not found"
        yield [next(groups) for _ in places], (work / f"flat{i}.sialx").read_text()


def vim_formats(editor, work, sialc):
    """What is wrong with `:SialFormat` and `gq`."""
    ugly = 'sial f  # "ä"\n\n\n\nscalar x\nproc p\nx=3.0\nendproc p\nx=1.0\nx=2.0\nendsial f\n'
    broken = "sial f\nscalar x\nx=1.0\nx = = 2.0\nendsial f\n"
    wanted = subprocess.run([sialc, "format", "-"], input=ugly, capture_output=True, text=True, timeout=60, check=True).stdout
    commands = {"command": "SialFormat", "operator": "normal 6GgqG", "one line": "normal 7Ggqq", "twice": "SialFormat | SialFormat"}
    script = ["set nocompatible encoding=utf-8", f"set runtimepath={EDITORS / 'vim'},$VIMRUNTIME", "filetype plugin indent on", "let out = []"]
    cases = [(text, command) for text in (ugly, broken) for command in commands.values()]
    for i, (text, command) in enumerate(cases):
        (work / f"f{i}.sialx").write_text(text)
        script += [f"edit f{i}.sialx", "let said = ''", "redir => said", f"silent! {command}", "redir END", "call add(out, said =~# ':4:5: error: ')", "update"]
    script += ["edit f0.sialx", "call SialFormat()", "call add(out, &modified)"]
    (work / "format.vim").write_text("\n".join([*script, "call writefile(map(out, 'string(v:val)'), 'said')", "qa!"]) + "\n")
    path = f"{sialc.parent}:{os.environ['PATH']}"
    subprocess.run([editor, "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "format.vim"], cwd=work, check=True, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path})
    *said, modified = (work / "said").read_text().split()
    found = [((work / f"f{i}.sialx").read_text(), said[i]) for i in range(len(cases))]
    problems = [f"{command}: {got}" for (text, command), got in zip(cases, found) if got != ((wanted, "0") if text == ugly else (text, "1"))]
    return problems + (["a buffer in the usual style counts as modified"] if modified != "0" else [])


def listed(sialc, folder, name):
    """What `:make -Wstrict` is to list of a program: file, line, column, kind and text of each entry."""
    run = subprocess.run([sialc, "-Wstrict", "--error-format=json", "-o", os.devnull, name], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    entries = []
    for d in map(json.loads, run.stderr.splitlines()):
        placed = [n for n in d["notes"] if "line" in n]
        text = [f"{d['message']} [{d['code']}]"] + ([f"hint: {d['hint']}"] if d["hint"] else []) + [f"note: {n['message']}" for n in d["notes"] if n not in placed]
        entries.append([d.get("file", ""), d.get("line", 0), d.get("column", 0), d["severity"][0].upper(), "\n".join(text)])
        entries += [[n["file"], n["line"], n["column"], "I", n["message"]] for n in placed]
    return entries


def vim_makes(editor, work, sialc):
    """What is wrong with `:make`."""
    folder = work / "make"
    shutil.copytree(HERE.parent / "lang" / "check", folder, ignore=shutil.ignore_patterns("*.siox"))
    (folder / "of two").mkdir()
    (folder / "of two" / "p.sialx").write_text('import "../defs of p.sialx"\nsial p\nscalar x\nx = y\nendsial p\n')
    (folder / "defs of p.sialx").write_text("sial defs\npredefined int norb\n\taoindex mu = 1:nor  # \u00e4: hint: none\nendsial defs\n")
    names = ["of two/p.sialx", "not there.sialx", *sorted(p.name for p in folder.glob("*.sialx"))[::6]]
    wanted = {name: listed(sialc, folder, name) for name in names}
    script = ["set nocompatible encoding=utf-8", f"set runtimepath={EDITORS / 'vim'},$VIMRUNTIME", "filetype plugin indent on", "let out = {}"]
    for name in names:
        script += [f"execute 'edit' fnameescape({name!r})", "silent make! -Wstrict", f"let out[{name!r}] = map(getqflist(), {{_, e -> [e.bufnr ? bufname(e.bufnr) : '', e.lnum, e.col, e.type, e.text, e.valid]}})"]
    script += [f"execute 'edit' fnameescape({names[0]!r})", "silent make -Wstrict", "let out.at = []"]
    script += ["call add(out.at, [bufname(''), line('.'), col('.')])", "silent! cnext"] * len(wanted[names[0]])
    (folder / "make.vim").write_text("\n".join([*script, "call writefile([json_encode(out)], 'listed')", "qa!"]) + "\n")
    path = f"{sialc.parent}:{os.environ['PATH']}"
    subprocess.run([editor, "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "make.vim"], cwd=folder, check=True, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path})
    found = json.loads((folder / "listed").read_text())
    problems = []
    if found["at"] != [entry[:3] for entry in wanted[names[0]]] or len({place[0] for place in found["at"]}) != 2:
        problems.append(f":make and :cnext go to {found['at']}")
    for name in names:
        got = [entry[:5] for entry in found[name] if entry[5]]
        stray = [entry[4] for entry in found[name] if not entry[5]]
        if got != wanted[name] or stray:
            problems.append(f":make of {name}\nfound  {got}\nwanted {wanted[name]}\nbeside {stray}")
    kinds = [entry[3] for entries in wanted.values() for entry in entries]
    if min(map(kinds.count, "EWI")) < 5 or not any("hint: " in entry[4] for entries in wanted.values() for entry in entries):
        problems.append(f"too few messages: {kinds}")
    if list(folder.glob("*.siox")):
        problems.append(":make writes modules")
    return problems


def run_emacs(editor, work, inputs):
    shutil.copy(EDITORS / "emacs" / "sial-mode.el", work)
    done = subprocess.run([editor, "-Q", "--batch", "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", "sial-mode.el"], cwd=work, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    script = ["(setq make-backup-files nil)", "(load (expand-file-name \"sial-mode.elc\"))",
              "(defun face-at (line column) (goto-char (point-min)) (forward-line (1- line)) (forward-char column)",
              "  (let ((face (get-text-property (point) 'face))) (princ (format \"%s\\n\" (or (if (consp face) (car face) face) \"\")))))"]
    for i, (text, _, places) in enumerate(inputs):
        (work / f"p{i}.sialx").write_text(text)
        (work / f"flat{i}.sialx").write_text("\n".join(line.strip() for line in text.split("\n")))
        script += [f"(find-file \"p{i}.sialx\")", "(princ (format \"%s\\n\" major-mode))", "(font-lock-ensure)",
                   "(dolist (p '(" + " ".join(f"({n} . {c})" for n, _, c in places) + ")) (face-at (car p) (cdr p)))",
                   f"(find-file \"flat{i}.sialx\")", "(let ((inhibit-message t)) (indent-region (point-min) (point-max)))", "(save-buffer)"]
    (work / "script.el").write_text("\n".join(script) + "\n")
    done = subprocess.run([editor, "-Q", "--batch", "-l", "script.el"], cwd=work, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    faces = iter(done.stdout.split("\n"))
    for i, (_, _, places) in enumerate(inputs):
        assert next(faces) == "sial-mode", "the mode was not found"
        yield [next(faces) for _ in places], (work / f"flat{i}.sialx").read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("editor", choices=["vim", "emacs"])
    options = parser.parse_args()
    editor = shutil.which(options.editor)
    if editor is None:
        print(f"skipped: there is no {options.editor}")
        sys.exit(SKIPPED)
    inputs = [(text, tokens, columns(text, tokens)) for _, text, tokens in compiler_tokens.valid(BIN / "sialc", ("examples",))]
    groups = VIM if options.editor == "vim" else EMACS
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.editor == "vim":
            for problem in [p for check in (vim_formats, vim_makes) for p in check(editor, pathlib.Path(folder), BIN / "sialc")]:
                failures += 1
                print(problem)
        run = run_vim if options.editor == "vim" else run_emacs
        for (text, tokens, _), (found, indented) in zip(inputs, run(editor, pathlib.Path(folder), inputs), strict=True):
            for (line, kind, written), group in zip(tokens, found, strict=True):
                count += 1
                if group not in groups[kind]:
                    failures += 1
                    print(f"line {line}: {kind} `{written}` is {group or 'plain'}: {text.splitlines()[line - 1]}" if failures < 20 else "", end="\n" if failures < 20 else "")
            for wanted, line in zip(text.split("\n"), indented.split("\n")):
                if wanted != line and not line.strip().startswith("#"):  # above the end of a block a comment's place is its writer's choice
                    failures += 1
                    print(f"indented as `{line}`, not `{wanted}`" if failures < 20 else "", end="\n" if failures < 20 else "")
    print(f"{len(inputs)} programs, {count} tokens, {failures} differences")
    sys.exit(1 if failures or count < 10000 else 0)


if __name__ == "__main__":
    main()
