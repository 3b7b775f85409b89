#!/usr/bin/env python3
"""Packs the VS Code extension: a .vsix, as `code --install-extension` takes it, without network and without npm.

    pack_vscode.py [FILE]     default: sial-VERSION.vsix in the current folder

The same sources give the same bytes. Times in the archive are those of SOURCE_DATE_EPOCH, or 1980.
"""
from __future__ import annotations

import json
import os
import pathlib
import sys
import time
import zipfile
from xml.sax.saxutils import escape, quoteattr

SOURCE = pathlib.Path(__file__).resolve().parent / "vscode"
FILES = ["package.json", "README.md", "extension.js", "connection.js", "convert.js", "language-configuration.json", "syntaxes/sial.tmLanguage.json"]
TYPES = {"json": "application/json", "js": "application/javascript", "md": "text/markdown", "vsixmanifest": "text/xml"}


def content_types() -> str:
    rows = "".join(f'<Default Extension=".{ending}" ContentType="{kind}"/>' for ending, kind in sorted(TYPES.items()))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>\n'


def manifest(package: dict) -> str:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])} Publisher={quoteattr(package["publisher"])}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Tags>{escape(",".join(package["keywords"]))}</Tags>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(package["engines"]["vscode"])}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def pack(target: pathlib.Path) -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    members = {"extension.vsixmanifest": manifest(package).encode(), "[Content_Types].xml": content_types().encode()}
    members.update({f"extension/{name}": (SOURCE / name).read_bytes() for name in FILES})
    moment = max((1980, 1, 1, 0, 0, 0), time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))[:6])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, content, compresslevel=9)


def main() -> None:
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        sys.exit(__doc__.strip() if sys.argv[1] in ("-h", "--help") else f"pack_vscode.py: error: {' '.join(sys.argv[1:])}: one file name at most; --help says more")
    version = json.loads((SOURCE / "package.json").read_text())["version"]
    target = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else f"sial-{version}.vsix")
    try:
        pack(target)
    except OSError as error:
        sys.exit(f"pack_vscode.py: error: cannot write `{target}`: {error.strerror}")
    print(f"{target}\n    code --install-extension {target}")


if __name__ == "__main__":
    main()
