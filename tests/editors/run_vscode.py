#!/usr/bin/env python3
"""The VS Code extension: packed, unpacked, checked, and at work under node against a fake of the editor.

    run_vscode.py --bin DIR
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, SKIPPED

HERE = pathlib.Path(__file__).resolve().parent
EDITORS = HERE.parents[1] / "grammar" / "editors"
VSX = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"


def check_package(work):
    """Folder of the unpacked extension."""
    archives = []
    for name in ("one.vsix", "two.vsix"):
        subprocess.run([sys.executable, str(EDITORS / "pack_vscode.py"), name], cwd=work, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "TZ": "Asia/Tokyo" if name == "two.vsix" else "UTC"})
        archives.append((work / name).read_bytes())
    assert archives[0] == archives[1], "packing twice gives other bytes"
    with zipfile.ZipFile(work / "one.vsix") as archive:
        assert archive.testzip() is None
        archive.extractall(work / "unpacked")
        names = archive.namelist()
    root = work / "unpacked"
    ET.parse(root / "[Content_Types].xml")
    endings = {row.get("Extension") for row in ET.parse(root / "[Content_Types].xml").getroot()}
    assert {"." + n.rsplit(".", 1)[1] for n in names if not n.startswith("[")} <= endings, "a kind of file without content type"
    manifest = ET.parse(root / "extension.vsixmanifest").getroot()
    package = json.loads((root / "extension" / "package.json").read_text())
    identity = manifest.find(f"{VSX}Metadata/{VSX}Identity")
    assert (identity.get("Id"), identity.get("Version"), identity.get("Publisher")) == (package["name"], package["version"], package["publisher"])
    for asset in manifest.iter(f"{VSX}Asset"):
        assert (root / asset.get("Path")).exists(), asset.get("Path")
    contributed = package["contributes"]
    for path in [package["main"], *(x["configuration"] for x in contributed["languages"]), *(x["path"] for x in contributed["grammars"])]:
        assert (root / "extension" / path).is_file(), path
    for path in (root / "extension").rglob("*.json"):
        json.loads(path.read_text())
    script = "".join(p.read_text() for p in (root / "extension").glob("*.js"))
    for module in re.findall(r"require\('([^']+)'\)", script):
        assert module in ("vscode", "child_process") or (root / "extension" / f"{module}.js").is_file(), f"{module} is not in the package"
    for command in contributed["commands"]:
        assert f"'{command['command']}'" in script, command
    for setting in contributed["configuration"]["properties"]:
        assert f"'{setting.removeprefix('sial.')}'" in script, setting
    return root / "extension"


def main():
    sialc = BIN / "sialc"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        extension = check_package(work)
        print("the package is well-formed")
        node = shutil.which("node") or shutil.which("nodejs")
        if node is None:
            print("skipped the extension at work: there is no node")
            sys.exit(SKIPPED)
        driver = [node, str(HERE / "vscode_extension.js"), str(extension)]
        subprocess.run([*driver, sys.executable, str(HERE / "fake_server.py"), str(work / "log")], check=True, cwd=work, timeout=120, env={**os.environ, "SIALX_FAKE_SERVER": "1"})
        told = [json.loads(line) for line in (work / "log").read_text().splitlines()]
        answers = {m["id"]: m for m in told if "method" not in m}
        assert answers["ask"]["result"] == [None] and answers["odd"]["error"]["code"] == -32601 and answers["edit"]["result"] == {"applied": True}, answers
        methods = [m.get("method") for m in told]
        assert {"initialized", "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "shutdown", "exit", "$/cancelRequest"} <= set(methods), methods
        if b"cannot read" not in subprocess.run([str(sialc), "lsp"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).stderr:
            subprocess.run([*driver, str(sialc), "lsp"], check=True, cwd=work, timeout=120)
            print("... and with sialc lsp")


if __name__ == "__main__":
    main()
