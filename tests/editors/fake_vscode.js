// The part of VS Code's interface that the extension uses, for tests without an editor.
'use strict';

const { EventEmitter: NodeEmitter } = require('events');

class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
  before(other) { return this.line < other.line || (this.line === other.line && this.character < other.character); }
}

class Range {
  constructor(a, b, c, d) {
    this.start = a instanceof Position ? a : new Position(a, b);
    this.end = a instanceof Position ? b : new Position(c, d);
  }
  intersection(other) {
    const start = this.start.before(other.start) ? other.start : this.start;
    const end = this.end.before(other.end) ? this.end : other.end;
    return end.before(start) ? undefined : new Range(start, end);
  }
}

class Uri {
  constructor(text) { this.text = text; this.scheme = text.split(':')[0]; this.fsPath = decodeURIComponent(text.replace(/^file:\/\//, '')); }
  static parse(text) { return new Uri(text); }
  toString() { return this.text; }
}

class EventEmitter {
  constructor() {
    this.emitter = new NodeEmitter();
    this.event = listener => {
      this.emitter.on('event', listener);
      return { dispose: () => this.emitter.off('event', listener) };
    };
  }
  fire(value) { this.emitter.emit('event', value); }
  dispose() { this.emitter.removeAllListeners(); }
}

class CancellationTokenSource {
  constructor() {
    const emitter = new EventEmitter();
    this.token = { isCancellationRequested: false, onCancellationRequested: emitter.event };
    this.cancel = () => { this.token.isCancellationRequested = true; emitter.fire(); };
  }
}

class MarkdownString {
  constructor(value = '') { this.value = value; }
  appendText(text) { this.value += text; return this; }
  appendCodeblock(text, language) { this.value += `\`\`\`${language}\n${text}\n\`\`\``; return this; }
}

class WorkspaceEdit {
  constructor() { this.replaced = []; }
  replace(uri, range, newText) { this.replaced.push({ uri, range, newText }); }
}

/** A class that keeps what its constructor gets under these names. */
const holder = (...names) => class {
  constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); }
};

const events = {};
const event = name => (events[name] = new EventEmitter()).event;
const providers = {};
const messages = [];
const commands = {};
const configuration = {};
const diagnostics = new Map();
const output = [];
const disposable = onDispose => ({ dispose: onDispose || (() => {}) });

const languages = {
  createDiagnosticCollection: () => ({ set: (uri, list) => { diagnostics.set(uri.toString(), list); events.diagnostics.fire(uri); }, clear: () => diagnostics.clear(), dispose: () => {} }),
};
for (const kind of ['Hover', 'Definition', 'Reference', 'DocumentHighlight', 'Rename', 'CompletionItem', 'SignatureHelp', 'DocumentSymbol', 'WorkspaceSymbol', 'FoldingRange', 'CodeActions',
  'DocumentFormattingEdit', 'DocumentRangeFormattingEdit', 'InlayHints', 'DocumentSemanticTokens', 'DocumentRangeSemanticTokens']) {
  languages[`register${kind}Provider`] = (...args) => {
    providers[kind] = args.find(a => a && Object.keys(a).some(key => key.startsWith('provide')));
    return disposable(() => delete providers[kind]);
  };
}
event('diagnostics');

module.exports = {
  Position, Range, Uri, EventEmitter, CancellationTokenSource, MarkdownString, WorkspaceEdit,
  Location: holder('uri', 'range'), Hover: holder('contents', 'range'), Diagnostic: holder('range', 'message', 'severity'), DiagnosticRelatedInformation: holder('location', 'message'),
  TextEdit: holder('range', 'newText'), CompletionItem: holder('label', 'kind'), CompletionList: holder('items', 'isIncomplete'), SnippetString: holder('value'),
  SignatureHelp: holder(), SignatureInformation: holder('label', 'documentation'), ParameterInformation: holder('label', 'documentation'),
  DocumentSymbol: holder('name', 'detail', 'kind', 'range', 'selectionRange'), SymbolInformation: holder('name', 'kind', 'containerName', 'location'),
  FoldingRange: holder('start', 'end', 'kind'), CodeAction: holder('title', 'kind'), InlayHint: holder('position', 'label', 'kind'), InlayHintLabelPart: holder('value'),
  DocumentHighlight: holder('range', 'kind'), SemanticTokensLegend: holder('tokenTypes', 'tokenModifiers'), SemanticTokens: holder('data', 'resultId'),
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  FoldingRangeKind: { Comment: 1, Imports: 2, Region: 3 },
  CodeActionKind: { Empty: { append: value => ({ value }) } },
  languages,
  commands: { registerCommand: (name, run) => { commands[name] = run; return disposable(() => delete commands[name]); } },
  window: {
    createOutputChannel: () => ({ append: text => output.push(text), appendLine: text => output.push(`${text}\n`), show() {}, dispose() {} }),
    showErrorMessage: async text => { messages.push(text); },
    showWarningMessage: async text => { messages.push(text); },
    showInformationMessage: async text => { messages.push(text); },
  },
  workspace: {
    isTrusted: true,
    textDocuments: [],
    workspaceFolders: undefined,
    getConfiguration: () => ({ get: (name, otherwise) => (name in configuration ? configuration[name] : otherwise) }),
    applyEdit: async edit => { events.edit.fire(edit); return true; },
    createFileSystemWatcher: () => ({ onDidCreate: event('created'), onDidChange: event('changed'), onDidDelete: event('deleted'), dispose() {} }),
    onDidOpenTextDocument: event('open'), onDidChangeTextDocument: event('change'), onDidCloseTextDocument: event('close'), onDidSaveTextDocument: event('save'),
    onDidChangeConfiguration: event('configuration'),
  },
  // of the test
  test: { events, providers, messages, commands, configuration, diagnostics, output },
};
event('edit');
