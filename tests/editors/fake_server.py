#!/usr/bin/env python3
"""A language server with answers known beforehand, for the test of the VS Code extension. What it was told goes into the log given as its argument."""
import json
import os
import sys

log = open(sys.argv[1], "a")  # noqa: SIM115
texts: dict[str, str] = {}
waiting = None  # id of a request that is answered when it is cancelled
ZERO = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 4}}
EDIT = {"range": ZERO, "newText": "SIAL"}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    data = b"Content-Length: %d\r\n\r\n" % len(body) + body
    half = len(data) // 2  # in two pieces: who reads has to put them together
    for piece in (data[:half], data[half:]):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def read():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, value = line.split(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def publish(uri):
    lines = texts[uri].split("\n")
    found = [{"range": {"start": {"line": n, "character": 0}, "end": {"line": n, "character": len(line)}}, "severity": 1, "code": "E-TYPE", "source": "sialc", "message": "wrong ℏ", "data": {"n": n},
              "relatedInformation": [{"location": {"uri": uri, "range": ZERO}, "message": "here"}]} for n, line in enumerate(lines) if "wrong" in line]
    send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": found}})


CAPABILITIES = {"textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": True}}, "hoverProvider": True, "definitionProvider": True, "referencesProvider": True, "documentHighlightProvider": True,
                "renameProvider": {"prepareProvider": True}, "completionProvider": {"resolveProvider": True, "triggerCharacters": ["["]}, "signatureHelpProvider": {"triggerCharacters": [" "]},
                "documentSymbolProvider": True, "workspaceSymbolProvider": True, "foldingRangeProvider": True, "codeActionProvider": {"resolveProvider": True}, "documentFormattingProvider": True,
                "documentRangeFormattingProvider": True, "inlayHintProvider": {"resolveProvider": True}, "executeCommandProvider": {"commands": ["sial.fake"]},
                "semanticTokensProvider": {"legend": {"tokenTypes": ["keyword"], "tokenModifiers": []}, "full": True, "range": True}}


def answer(method, params):
    at = {"uri": params.get("textDocument", {}).get("uri"), "range": ZERO}
    return {
        "initialize": {"capabilities": CAPABILITIES},
        "shutdown": None,
        "textDocument/hover": {"contents": {"kind": "markdown", "value": "**x** ∈ scalar"}, "range": ZERO},
        "textDocument/definition": [{"targetUri": at["uri"], "targetRange": ZERO, "targetSelectionRange": ZERO}],
        "textDocument/references": [at, at],
        "textDocument/documentHighlight": [{"range": ZERO, "kind": 2}],
        "textDocument/prepareRename": {"range": ZERO, "placeholder": "sial"},
        "textDocument/rename": {"changes": {at["uri"]: [{"range": ZERO, "newText": params.get("newName")}]}},
        "textDocument/completion": {"isIncomplete": False, "items": [{"label": "pardo", "kind": 14, "insertText": "pardo ${1:i}", "insertTextFormat": 2}, {"label": "x", "kind": 6, "textEdit": EDIT}]},
        "completionItem/resolve": {**params, "documentation": "more"},
        "textDocument/signatureHelp": {"signatures": [{"label": "f t x", "parameters": [{"label": "t"}, {"label": [4, 5]}]}], "activeSignature": 0, "activeParameter": 1},
        "textDocument/documentSymbol": [{"name": "p", "kind": 12, "range": ZERO, "selectionRange": ZERO, "children": [{"name": "x", "kind": 13, "range": ZERO, "selectionRange": ZERO}]}],
        "workspace/symbol": [{"name": "p", "kind": 12, "location": {"uri": "file:///w/a.sialx", "range": ZERO}}],
        "textDocument/foldingRange": [{"startLine": 1, "endLine": 3, "kind": "region"}],
        "textDocument/codeAction": [{"title": "declare it", "kind": "quickfix", "isPreferred": True, "data": 1, "diagnostics": params.get("context", {}).get("diagnostics", [])},
                                    {"title": "bare", "command": "sial.fake"}],
        "codeAction/resolve": {**params, "edit": {"documentChanges": [{"textDocument": {"uri": "file:///w/a.sialx", "version": 1}, "edits": [EDIT]}]}},
        "textDocument/formatting": [EDIT],
        "textDocument/rangeFormatting": [EDIT, EDIT],
        "textDocument/inlayHint": [{"position": ZERO["end"], "label": [{"value": "8 MB", "tooltip": "bytes"}], "kind": 1, "paddingLeft": True}],
        "inlayHint/resolve": {**params, "tooltip": "cost"},
        "textDocument/semanticTokens/full": {"data": [0, 0, 4, 0, 0]},
        "textDocument/semanticTokens/range": {"data": [0, 0, 4, 0, 0, 1, 0, 2, 0, 0]},
        "workspace/executeCommand": {"got": params.get("arguments")},
    }[method]


while (message := read()) is not None:
    method, params = message.get("method"), message.get("params") or {}
    log.write(json.dumps(message) + "\n")
    log.flush()
    if method == "exit":
        sys.exit(0)
    if method == "textDocument/didOpen":
        texts[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        publish(params["textDocument"]["uri"])
    elif method == "textDocument/didChange":
        text = texts[params["textDocument"]["uri"]]
        for change in params["contentChanges"]:
            lines, r = text.split("\n"), change["range"]
            before = "\n".join([*lines[:r["start"]["line"]], lines[r["start"]["line"]][:r["start"]["character"]]])
            after = "\n".join([lines[r["end"]["line"]][r["end"]["character"]:], *lines[r["end"]["line"] + 1:]])
            text = before + change["text"] + after
        texts[params["textDocument"]["uri"]] = text
        publish(params["textDocument"]["uri"])
    elif method == "textDocument/didSave":
        os._exit(3) if "crash" in params.get("text", "") else None
    elif method == "$/cancelRequest":
        send({"id": params["id"], "error": {"code": -32800, "message": "cancelled"}})
    elif method == "textDocument/hover" and params["position"]["line"] == 99:
        waiting = message["id"]
    elif method == "textDocument/hover" and params["position"]["line"] == 98:
        send({"id": message["id"], "error": {"code": -32603, "message": "broken"}})
    elif method == "initialized":
        send({"id": "ask", "method": "workspace/configuration", "params": {"items": [{"section": "sial"}]}})
        send({"id": "odd", "method": "workspace/unheardOf", "params": {}})
        send({"id": "edit", "method": "workspace/applyEdit", "params": {"edit": {"changes": {"file:///w/a.sialx": [EDIT]}}}})
        send({"method": "window/logMessage", "params": {"type": 3, "message": "hello from the server"}})
    elif "id" in message and method:
        send({"id": message["id"], "result": answer(method, params)})
