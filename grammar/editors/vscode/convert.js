// Values of the Language Server Protocol to those of VS Code, and back.
'use strict';

const vscode = require('vscode');

const position = p => new vscode.Position(p.line, p.character);
const range = r => new vscode.Range(position(r.start), position(r.end));
const uri = text => vscode.Uri.parse(text);
const location = l => (l.targetUri
  ? { targetUri: uri(l.targetUri), targetRange: range(l.targetRange), targetSelectionRange: range(l.targetSelectionRange), originSelectionRange: l.originSelectionRange && range(l.originSelectionRange) }
  : new vscode.Location(uri(l.uri), range(l.range)));
const locations = result => (result ? (Array.isArray(result) ? result : [result]).map(location) : undefined);

const toPosition = p => ({ line: p.line, character: p.character });
const toRange = r => ({ start: toPosition(r.start), end: toPosition(r.end) });
const toDocument = document => ({ uri: document.uri.toString() });
const toPlace = (document, at) => ({ textDocument: toDocument(document), position: toPosition(at) });

/** Hints and descriptions: a string, {kind, value} or {language, value}. */
function markup(content) {
  if (content === undefined || content === null) return undefined;
  if (Array.isArray(content)) return content.map(markup);
  if (typeof content === 'string') return new vscode.MarkdownString(content);
  if (content.kind === 'plaintext') return new vscode.MarkdownString().appendText(content.value);
  if (content.language) return new vscode.MarkdownString().appendCodeblock(content.value, content.language);
  return new vscode.MarkdownString(content.value);
}

const documentation = content => (typeof content === 'string' ? content : markup(content));

function hover(result) {
  if (!result) return undefined;
  const contents = markup(result.contents);
  return new vscode.Hover(Array.isArray(contents) ? contents : [contents], result.range && range(result.range));
}

const SEVERITIES = { 1: 'Error', 2: 'Warning', 3: 'Information', 4: 'Hint' };

function diagnostic(d) {
  const out = new vscode.Diagnostic(range(d.range), d.message, vscode.DiagnosticSeverity[SEVERITIES[d.severity] || 'Error']);
  out.source = d.source;
  out.code = d.codeDescription && d.codeDescription.href ? { value: d.code, target: uri(d.codeDescription.href) } : d.code;
  if (d.tags) out.tags = d.tags;
  if (d.relatedInformation) {
    out.relatedInformation = d.relatedInformation.map(r => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
  }
  return out;
}

const textEdit = e => new vscode.TextEdit(range(e.range), e.newText);
const textEdits = result => (result ? result.map(textEdit) : undefined);

function workspaceEdit(e) {
  if (!e) return undefined;
  const out = new vscode.WorkspaceEdit();
  for (const change of e.documentChanges || []) {
    if (change.textDocument) for (const one of change.edits) out.replace(uri(change.textDocument.uri), range(one.range), one.newText);
    else if (change.kind === 'create') out.createFile(uri(change.uri), change.options);
    else if (change.kind === 'rename') out.renameFile(uri(change.oldUri), uri(change.newUri), change.options);
    else if (change.kind === 'delete') out.deleteFile(uri(change.uri), change.options);
  }
  if (!e.documentChanges) {
    for (const [file, edits] of Object.entries(e.changes || {})) for (const one of edits) out.replace(uri(file), range(one.range), one.newText);
  }
  return out;
}

const command = c => c && { title: c.title, command: c.command, arguments: c.arguments };

/** `original` is what resolve requests send back. */
function completionItem(item, defaults = {}) {
  const out = new vscode.CompletionItem(item.labelDetails ? { label: item.label, ...item.labelDetails } : item.label, item.kind ? item.kind - 1 : undefined);
  for (const name of ['detail', 'sortText', 'filterText', 'preselect', 'tags']) if (item[name] !== undefined) out[name] = item[name];
  out.documentation = documentation(item.documentation);
  out.commitCharacters = item.commitCharacters || defaults.commitCharacters;
  const text = item.textEdit ? item.textEdit.newText : item.insertText !== undefined ? item.insertText : item.label;
  out.insertText = (item.insertTextFormat || defaults.insertTextFormat) === 2 ? new vscode.SnippetString(text) : text;
  const place = item.textEdit || (defaults.editRange && { range: defaults.editRange });
  if (place && place.range) out.range = range(place.range);
  else if (place && place.insert) out.range = { inserting: range(place.insert), replacing: range(place.replace) };
  if (item.additionalTextEdits) out.additionalTextEdits = textEdits(item.additionalTextEdits);
  out.command = command(item.command);
  out.original = item;
  return out;
}

function completions(result) {
  if (!result) return undefined;
  const items = Array.isArray(result) ? result : result.items;
  return new vscode.CompletionList(items.map(item => completionItem(item, result.itemDefaults)), Boolean(result.isIncomplete));
}

function signatureHelp(result) {
  if (!result) return undefined;
  const out = new vscode.SignatureHelp();
  out.activeSignature = result.activeSignature || 0;
  out.activeParameter = result.activeParameter || 0;
  out.signatures = result.signatures.map(s => {
    const signature = new vscode.SignatureInformation(s.label, documentation(s.documentation));
    signature.parameters = (s.parameters || []).map(p => new vscode.ParameterInformation(p.label, documentation(p.documentation)));
    if (typeof s.activeParameter === 'number') signature.activeParameter = s.activeParameter;
    return signature;
  });
  return out;
}

function symbol(s) {
  if (s.location) return new vscode.SymbolInformation(s.name, s.kind - 1, s.containerName || '', location(s.location));
  const out = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1, range(s.range), range(s.selectionRange));
  out.children = (s.children || []).map(symbol);
  return out;
}

const FOLDS = { comment: 'Comment', imports: 'Imports', region: 'Region' };
const fold = f => new vscode.FoldingRange(f.startLine, f.endLine, f.kind && vscode.FoldingRangeKind[FOLDS[f.kind]]);

function codeAction(a) {
  if (typeof a.command === 'string') return command(a); // a bare command
  const out = new vscode.CodeAction(a.title, a.kind ? vscode.CodeActionKind.Empty.append(a.kind) : undefined);
  out.edit = workspaceEdit(a.edit);
  out.command = command(a.command);
  out.isPreferred = a.isPreferred;
  if (a.disabled) out.disabled = a.disabled;
  if (a.diagnostics) out.diagnostics = a.diagnostics.map(diagnostic);
  out.original = a;
  return out;
}

function inlayHint(h) {
  const label = typeof h.label === 'string' ? h.label : h.label.map(part => {
    const out = new vscode.InlayHintLabelPart(part.value);
    out.tooltip = documentation(part.tooltip);
    if (part.location) out.location = location(part.location);
    out.command = command(part.command);
    return out;
  });
  const out = new vscode.InlayHint(position(h.position), label, h.kind);
  out.tooltip = documentation(h.tooltip);
  out.paddingLeft = h.paddingLeft;
  out.paddingRight = h.paddingRight;
  if (h.textEdits) out.textEdits = textEdits(h.textEdits);
  out.original = h;
  return out;
}

module.exports = {
  position, range, uri, location, locations, toPosition, toRange, toDocument, toPlace, hover, diagnostic, textEdits, workspaceEdit, command, completionItem,
  completions, documentation, signatureHelp, symbol, fold, codeAction, inlayHint,
};
