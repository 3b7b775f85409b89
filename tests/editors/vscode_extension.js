// The VS Code extension at work without VS Code: vscode_extension.js FOLDER COMMAND ARGUMENT...
// FOLDER: the extension; the rest: a language server. With SIALX_FAKE_SERVER set its answers are compared with what they should be.
'use strict';

const assert = require('assert');
const Module = require('module');
const path = require('path');

const fake = path.join(__dirname, 'fake_vscode.js');
const resolve = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) => (request === 'vscode' ? fake : resolve(request, ...rest));

const vscode = require('vscode');
const { events, providers, messages, commands, configuration, diagnostics, output } = vscode.test;
const [folder, command, ...args] = process.argv.slice(2);
const extension = require(path.resolve(folder));
const isFake = Boolean(process.env.SIALX_FAKE_SERVER);

const within = (promise, what) => new Promise((done, failed) => {
  const timer = setTimeout(() => failed(new Error(`${what}: nothing within 20 s; ${output.join('')}`)), 20000);
  promise.then(done, failed).finally(() => clearTimeout(timer));
});
const next = name => new Promise(done => { const one = events[name].event(value => { one.dispose(); done(value); }); });
const at = (line, character) => new vscode.Position(line, character);
const none = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };

class Document {
  constructor(uri, text) { Object.assign(this, { uri: vscode.Uri.parse(uri), text, version: 1, languageId: 'sial' }); }
  getText() { return this.text; }
  /** One change of [line, from, to) to other text. */
  change(line, from, to, text) {
    const lines = this.text.split('\n');
    lines[line] = lines[line].slice(0, from) + text + lines[line].slice(to);
    this.text = lines.join('\n');
    this.version += 1;
    events.change.fire({ document: this, contentChanges: [{ range: new vscode.Range(line, from, line, to), rangeLength: to - from, text }] });
  }
}

const PROGRAM = 'sial a # ℏ 𝜓\nscalar x\nx =wrong\nendsial a\n';

async function both() {
  const context = { subscriptions: [] };
  await within(extension.activate(context), 'activate');
  assert.deepStrictEqual(messages, [], 'nothing to complain about');
  const document = new Document('file:///w/a.sialx', PROGRAM);
  let arrived = next('diagnostics');
  vscode.workspace.textDocuments.push(document);
  events.open.fire(document);
  await within(arrived, 'diagnostics');
  const found = diagnostics.get('file:///w/a.sialx');
  assert.strictEqual(found.length, 1, 'one message');
  assert.strictEqual(found[0].range.start.line, 2);
  assert.strictEqual(found[0].severity, vscode.DiagnosticSeverity.Error);
  const hover = await within(providers.Hover.provideHover(document, at(1, 7), none), 'hover');
  assert.ok(hover.contents[0].value.length > 0);
  arrived = next('diagnostics');
  document.change(2, 3, 8, '1.0');
  await within(arrived, 'diagnostics of the change');
  assert.deepStrictEqual(diagnostics.get('file:///w/a.sialx').filter(d => d.severity === 0), [], 'the error is gone');
  if (isFake || providers.DocumentFormattingEdit) {
    const edits = await within(providers.DocumentFormattingEdit.provideDocumentFormattingEdits(document, { tabSize: 2, insertSpaces: true }, none), 'formatting');
    assert.ok(edits.length > 0 && edits.every(e => typeof e.newText === 'string'));
  }
  return document;
}

async function withFake(document) {
  const { FoldingRange, DocumentSymbol, CompletionItem, SignatureHelp, Definition, Reference, Rename, CodeActions, InlayHints, DocumentSemanticTokens, DocumentRangeSemanticTokens } = providers;
  assert.deepStrictEqual((await providers.Hover.provideHover(document, at(1, 7), none)).contents[0].value, '**x** ∈ scalar');
  assert.strictEqual((await Definition.provideDefinition(document, at(1, 7), none))[0].targetUri.toString(), 'file:///w/a.sialx');
  assert.strictEqual((await Reference.provideReferences(document, at(1, 7), { includeDeclaration: true }, none)).length, 2);
  assert.strictEqual((await providers.DocumentHighlight.provideDocumentHighlights(document, at(1, 7), none))[0].kind, 1);
  assert.strictEqual((await Rename.prepareRename(document, at(1, 7), none)).placeholder, 'sial');
  assert.strictEqual((await Rename.provideRenameEdits(document, at(1, 7), 'y', none)).replaced[0].newText, 'y');
  const list = await CompletionItem.provideCompletionItems(document, at(2, 0), none, { triggerKind: 0 });
  assert.ok(list.items[0].insertText instanceof vscode.SnippetString);
  assert.strictEqual(list.items[0].kind, 13);
  assert.strictEqual(list.items[1].insertText, 'SIAL');
  assert.strictEqual((await CompletionItem.resolveCompletionItem(list.items[0], none)).documentation, 'more');
  assert.strictEqual((await SignatureHelp.provideSignatureHelp(document, at(2, 0), none, { triggerKind: 1 })).signatures[0].parameters.length, 2);
  assert.strictEqual((await DocumentSymbol.provideDocumentSymbols(document, none))[0].children[0].name, 'x');
  assert.strictEqual((await providers.WorkspaceSymbol.provideWorkspaceSymbols('p', none))[0].kind, 11);
  assert.strictEqual((await FoldingRange.provideFoldingRanges(document, {}, none))[0].kind, vscode.FoldingRangeKind.Region);
  const range = new vscode.Range(0, 0, 3, 0);
  const arrived = next('diagnostics');
  document.change(2, 3, 6, 'wrong');
  await within(arrived, 'diagnostics');
  const [fix, bare] = await CodeActions.provideCodeActions(document, range, { triggerKind: 1 }, none);
  assert.deepStrictEqual([fix.kind.value, fix.isPreferred, fix.diagnostics.length, bare.command], ['quickfix', true, 1, 'sial.fake']);
  assert.deepStrictEqual(fix.original.diagnostics[0].data, { n: 2 }, 'the data of a message go back to the server');
  assert.strictEqual((await CodeActions.provideCodeActions(document, new vscode.Range(0, 0, 0, 1), { triggerKind: 1 }, none))[0].diagnostics.length, 0);
  assert.strictEqual((await CodeActions.resolveCodeAction(fix, none)).edit.replaced[0].newText, 'SIAL');
  assert.strictEqual((await providers.DocumentRangeFormattingEdit.provideDocumentRangeFormattingEdits(document, range, {}, none)).length, 2);
  const [hint] = await InlayHints.provideInlayHints(document, range, none);
  assert.deepStrictEqual([hint.label[0].value, hint.paddingLeft], ['8 MB', true]);
  assert.strictEqual((await InlayHints.resolveInlayHint(hint, none)).tooltip, 'cost');
  assert.strictEqual((await DocumentSemanticTokens.provideDocumentSemanticTokens(document, none)).data.length, 5);
  assert.strictEqual((await DocumentRangeSemanticTokens.provideDocumentRangeSemanticTokens(document, range, none)).data.length, 10);
  assert.deepStrictEqual(await commands['sial.fake'](1, 2), { got: [1, 2] });

  // A question that is no longer asked is taken back; an error of the server reaches the editor.
  const source = new vscode.CancellationTokenSource();
  const pending = providers.Hover.provideHover(document, at(99, 0), source.token);
  setTimeout(() => source.cancel(), 50);
  assert.strictEqual(await within(pending, 'cancelled'), undefined);
  await assert.rejects(providers.Hover.provideHover(document, at(98, 0), none), /broken/);
  assert.ok(output.join('').includes('hello from the server'));

  // A server that ends is started again, with the documents that are open.
  let again = next('diagnostics');
  document.text += '# crash';
  events.save.fire(document);
  await within(again, 'started again');
  assert.strictEqual((await within(providers.Hover.provideHover(document, at(1, 7), none), 'hover of the new server')).contents.length, 1);
  again = next('diagnostics');
  await within(commands['sial.restartServer'](), 'restart');
  await within(again, 'diagnostics after the restart');

  // One that ends at once is given up.
  configuration['server.path'] = process.execPath;
  configuration['server.arguments'] = ['-e', 'process.exit(1)'];
  await commands['sial.restartServer']();
  for (let i = 0; i < 200 && !messages.some(m => m.includes('again and again')); ++i) await new Promise(done => setTimeout(done, 100));
  assert.ok(messages.some(m => m.includes('again and again')), messages.join('; '));
  configuration['server.path'] = '/nowhere/sialc';
  await commands['sial.restartServer']();
  for (let i = 0; i < 50 && !messages.some(m => m.includes('/nowhere/sialc')); ++i) await new Promise(done => setTimeout(done, 100));
  assert.ok(messages.some(m => m.includes('/nowhere/sialc')), messages.join('; '));
}

/** Every question that the server says it answers, at every place of the program: an answer, no error. */
async function everything(document) {
  const options = { tabSize: 2, insertSpaces: true };
  const whole = new vscode.Range(0, 0, document.text.split('\n').length - 1, 0);
  const ask = {
    Definition: (p, d, place) => p.provideDefinition(d, place, none),
    Hover: (p, d, place) => p.provideHover(d, place, none),
    Reference: (p, d, place) => p.provideReferences(d, place, { includeDeclaration: true }, none),
    DocumentHighlight: (p, d, place) => p.provideDocumentHighlights(d, place, none),
    CompletionItem: (p, d, place) => p.provideCompletionItems(d, place, none, { triggerKind: 0 }),
    SignatureHelp: (p, d, place) => p.provideSignatureHelp(d, place, none, { triggerKind: 1 }),
    DocumentSymbol: (p, d) => p.provideDocumentSymbols(d, none),
    FoldingRange: (p, d) => p.provideFoldingRanges(d, {}, none),
    CodeActions: (p, d) => p.provideCodeActions(d, whole, { triggerKind: 1 }, none),
    DocumentRangeFormattingEdit: (p, d) => p.provideDocumentRangeFormattingEdits(d, whole, options, none),
    InlayHints: (p, d) => p.provideInlayHints(d, whole, none),
    DocumentSemanticTokens: (p, d) => p.provideDocumentSemanticTokens(d, none),
    DocumentRangeSemanticTokens: (p, d) => p.provideDocumentRangeSemanticTokens(d, whole, none),
  };
  const answered = new Set();
  for (const [line, text] of document.text.split('\n').entries()) {
    for (let character = 0; character <= text.length; ++character) {
      for (const kind of Object.keys(ask).filter(k => providers[k])) {
        const result = await within(ask[kind](providers[kind], document, at(line, character)), `${kind} at ${line}:${character}`);
        if (result !== undefined) answered.add(kind);
      }
    }
  }
  console.log(`answers to: ${[...answered].sort().join(' ')}; none to: ${Object.keys(ask).filter(k => !answered.has(k)).join(' ') || '-'}`);
}

async function main() {
  configuration['server.path'] = command;
  configuration['server.arguments'] = args;
  const document = await both();
  await (isFake ? withFake : everything)(document);
  events.close.fire(document);
  await within(extension.deactivate(), 'deactivate');
  console.log('the extension works');
}

process.exitCode = 1; // unless main() comes to its end
main().then(() => process.exit(0), error => { console.error(error); process.exit(1); });
