// The language server of sialc in VS Code: starts `sialc lsp`, tells it what is edited, and asks it what the editor asks for.
'use strict';

const vscode = require('vscode');
const { Connection, isStale } = require('./connection');
const convert = require('./convert');

const LANGUAGE = 'sial';
const SELECTOR = [{ language: LANGUAGE, scheme: 'file' }, { language: LANGUAGE, scheme: 'untitled' }];
const PATIENCE = { crashes: 4, milliseconds: 3 * 60 * 1000 };

let client;

const CLIENT_CAPABILITIES = {
  general: { positionEncodings: ['utf-16'] },
  workspace: { applyEdit: true, workspaceEdit: { documentChanges: true }, configuration: true, workspaceFolders: true, inlayHint: { refreshSupport: true }, semanticTokens: { refreshSupport: true } },
  window: { workDoneProgress: false, showMessage: {} },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { relatedInformation: true, codeDescriptionSupport: true, dataSupport: true, tagSupport: { valueSet: [1, 2] } },
    hover: { contentFormat: ['markdown', 'plaintext'] },
    definition: { linkSupport: true },
    references: {},
    documentHighlight: {},
    rename: { prepareSupport: true },
    completion: { contextSupport: true, completionItem: { snippetSupport: true, documentationFormat: ['markdown', 'plaintext'], labelDetailsSupport: true, resolveSupport: { properties: ['documentation', 'detail'] } } },
    signatureHelp: { contextSupport: true, signatureInformation: { documentationFormat: ['markdown', 'plaintext'], parameterInformation: { labelOffsetSupport: true }, activeParameterSupport: true } },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    foldingRange: { lineFoldingOnly: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['', 'quickfix', 'refactor', 'source'] } }, isPreferredSupport: true, dataSupport: true, disabledSupport: true, resolveSupport: { properties: ['edit'] } },
    formatting: {},
    rangeFormatting: {},
    inlayHint: { resolveSupport: { properties: ['tooltip'] } },
    semanticTokens: {
      requests: { full: true, range: true }, formats: ['relative'], multilineTokenSupport: false, overlappingTokenSupport: false,
      tokenTypes: ['namespace', 'type', 'parameter', 'variable', 'property', 'function', 'keyword', 'modifier', 'comment', 'string', 'number', 'operator'],
      tokenModifiers: ['declaration', 'definition', 'readonly', 'static', 'deprecated', 'modification', 'documentation', 'defaultLibrary'],
    },
  },
};

class Client {
  constructor(output) {
    this.output = output;
    this.diagnostics = vscode.languages.createDiagnosticCollection(LANGUAGE);
    this.received = new Map(); // uri: diagnostics as the server sent them
    this.hintsChanged = new vscode.EventEmitter();
    this.tokensChanged = new vscode.EventEmitter();
    this.subscriptions = [];
    this.crashes = [];
    this.open = new Set();
  }

  settings() {
    return vscode.workspace.getConfiguration('sial');
  }

  async start() {
    this.stopping = false;
    const settings = this.settings();
    if (!settings.get('server.enabled', true) || vscode.workspace.isTrusted === false) return;
    const command = settings.get('server.path', 'sialc');
    const folder = (vscode.workspace.workspaceFolders || [])[0];
    const trace = settings.get('trace.server', 'off') !== 'off';
    const connection = new Connection(command, settings.get('server.arguments', ['lsp']), {
      notification: (method, params) => this.onNotification(method, params),
      request: (method, params) => this.onRequest(method, params),
      error: text => this.output.append(text),
      exit: (error, code, signal) => this.onExit(connection, error, code, signal),
      trace: trace ? line => this.output.appendLine(line) : undefined,
    }, folder && folder.uri.scheme === 'file' ? { cwd: folder.uri.fsPath } : {});
    this.connection = connection;
    let started;
    try {
      started = await connection.request('initialize', {
        processId: process.pid,
        clientInfo: { name: 'vscode-sial' },
        rootUri: folder ? folder.uri.toString() : null,
        workspaceFolders: (vscode.workspace.workspaceFolders || []).map(f => ({ uri: f.uri.toString(), name: f.name })),
        capabilities: CLIENT_CAPABILITIES,
      });
    } catch (error) {
      if (!isStale(error)) vscode.window.showErrorMessage(`SIAL: the language server does not start: ${error.message}`);
      return;
    }
    this.capabilities = started.capabilities;
    connection.notify('initialized', {});
    this.follow();
    this.provide();
  }

  onExit(connection, error, code, signal) {
    if (connection !== this.connection || this.stopping) return;
    this.release();
    if (error) {
      const missing = error.code === 'ENOENT' ? 'is not there; install sialx, or set sial.server.path' : error.message;
      vscode.window.showWarningMessage(`SIAL: \`${this.settings().get('server.path', 'sialc')}\` ${missing}`);
      return;
    }
    const now = Date.now();
    this.crashes = [...this.crashes.filter(at => now - at < PATIENCE.milliseconds), now];
    this.output.appendLine(`the language server ended (${signal || `exit code ${code}`})`);
    if (this.crashes.length <= PATIENCE.crashes) this.start();
    else vscode.window.showErrorMessage('SIAL: the language server ends again and again and is not started any more. Its output says why; "SIAL: Restart the language server" tries again.');
  }

  async stop() {
    this.stopping = true;
    this.release();
    if (this.connection) await this.connection.shutdown();
    this.connection = undefined;
  }

  async restart() {
    await this.stop();
    this.crashes = [];
    await this.start();
  }

  /** What belongs to one run of the server. */
  release() {
    for (const one of this.subscriptions.splice(0)) one.dispose();
    this.diagnostics.clear();
    this.received.clear();
    this.open.clear();
  }

  // ---- what the server sends
  onNotification(method, params) {
    if (method === 'textDocument/publishDiagnostics') {
      this.received.set(convert.uri(params.uri).toString(), params.diagnostics);
      this.diagnostics.set(convert.uri(params.uri), params.diagnostics.map(convert.diagnostic));
    } else if (method === 'window/showMessage') {
      const show = { 1: 'showErrorMessage', 2: 'showWarningMessage' }[params.type] || 'showInformationMessage';
      vscode.window[show](params.message);
    } else if (method === 'window/logMessage') {
      this.output.appendLine(params.message);
    }
  }

  async onRequest(method, params) {
    switch (method) {
      case 'workspace/configuration':
        return params.items.map(item => {
          const value = vscode.workspace.getConfiguration(undefined, item.scopeUri ? convert.uri(item.scopeUri) : undefined).get(item.section || LANGUAGE);
          return value === undefined ? null : value;
        });
      case 'workspace/workspaceFolders':
        return (vscode.workspace.workspaceFolders || []).map(f => ({ uri: f.uri.toString(), name: f.name }));
      case 'workspace/applyEdit':
        return { applied: await vscode.workspace.applyEdit(convert.workspaceEdit(params.edit)) };
      case 'workspace/inlayHint/refresh':
        this.hintsChanged.fire();
        return null;
      case 'workspace/semanticTokens/refresh':
        this.tokensChanged.fire();
        return null;
      case 'window/showMessageRequest':
        return (await vscode.window.showInformationMessage(params.message, ...(params.actions || []))) || null;
      case 'client/registerCapability':
      case 'client/unregisterCapability':
      case 'window/workDoneProgress/create':
        return null;
      default:
        return undefined;
    }
  }

  // ---- what is edited
  matches(document) {
    return document.languageId === LANGUAGE && ['file', 'untitled'].includes(document.uri.scheme);
  }

  didOpen(document) {
    if (!this.matches(document)) return;
    this.open.add(document.uri.toString());
    this.connection.notify('textDocument/didOpen', { textDocument: { ...convert.toDocument(document), languageId: LANGUAGE, version: document.version, text: document.getText() } });
  }

  didChange(event) {
    const { document, contentChanges } = event;
    if (!this.open.has(document.uri.toString()) || contentChanges.length === 0) return;
    const sync = this.capabilities.textDocumentSync;
    const incremental = (typeof sync === 'object' && sync !== null ? sync.change : sync) === 2;
    this.connection.notify('textDocument/didChange', {
      textDocument: { ...convert.toDocument(document), version: document.version },
      contentChanges: incremental ? contentChanges.map(c => ({ range: convert.toRange(c.range), rangeLength: c.rangeLength, text: c.text })) : [{ text: document.getText() }],
    });
  }

  didClose(document) {
    if (!this.open.delete(document.uri.toString())) return;
    this.connection.notify('textDocument/didClose', { textDocument: convert.toDocument(document) });
  }

  didSave(document) {
    if (!this.open.has(document.uri.toString())) return;
    const { save } = this.capabilities.textDocumentSync || {};
    this.connection.notify('textDocument/didSave', { textDocument: convert.toDocument(document), ...(save && save.includeText ? { text: document.getText() } : {}) });
  }

  follow() {
    const { workspace } = vscode;
    workspace.textDocuments.forEach(document => this.didOpen(document));
    this.subscriptions.push(
      workspace.onDidOpenTextDocument(document => this.didOpen(document)),
      workspace.onDidChangeTextDocument(event => this.didChange(event)),
      workspace.onDidCloseTextDocument(document => this.didClose(document)),
      workspace.onDidSaveTextDocument(document => this.didSave(document)),
      workspace.onDidChangeConfiguration(event => {
        if (['path', 'arguments', 'enabled'].some(name => event.affectsConfiguration(`sial.server.${name}`)) || event.affectsConfiguration('sial.trace.server')) this.restart();
        else if (event.affectsConfiguration(LANGUAGE)) this.connection.notify('workspace/didChangeConfiguration', { settings: { sial: this.settings() } });
      }),
    );
    // Job files, run.json and imported programs that change outside the editor.
    const watcher = workspace.createFileSystemWatcher('**/{*.sialx,*.toml,run.json}');
    const changed = type => uri => this.connection.notify('workspace/didChangeWatchedFiles', { changes: [{ uri: uri.toString(), type }] });
    this.subscriptions.push(watcher, watcher.onDidCreate(changed(1)), watcher.onDidChange(changed(2)), watcher.onDidDelete(changed(3)));
  }

  // ---- what the editor asks
  /** Undefined where the question is out of date; other errors are the editor's to show. */
  async ask(method, params, token, use = result => result) {
    let result;
    try {
      result = await this.connection.request(method, params, token);
    } catch (error) {
      if (isStale(error)) return undefined;
      throw error;
    }
    return result === null ? undefined : use(result);
  }

  diagnosticsIn(document, range) {
    const touches = r => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character).intersection(range) !== undefined;
    return (this.received.get(document.uri.toString()) || []).filter(d => touches(d.range));
  }

  provide() {
    const can = this.capabilities;
    const { languages } = vscode;
    const add = (capability, register) => {
      if (capability) this.subscriptions.push(register());
    };
    const at = (method, use) => (document, position, token) => this.ask(method, convert.toPlace(document, position), token, use);
    const of = (method, use) => (document, token) => this.ask(method, { textDocument: convert.toDocument(document) }, token, use);

    add(can.hoverProvider, () => languages.registerHoverProvider(SELECTOR, { provideHover: at('textDocument/hover', convert.hover) }));
    add(can.definitionProvider, () => languages.registerDefinitionProvider(SELECTOR, { provideDefinition: at('textDocument/definition', convert.locations) }));
    add(can.referencesProvider, () => languages.registerReferenceProvider(SELECTOR, {
      provideReferences: (document, position, context, token) => this.ask('textDocument/references', { ...convert.toPlace(document, position), context: { includeDeclaration: context.includeDeclaration } }, token, convert.locations),
    }));
    add(can.documentHighlightProvider, () => languages.registerDocumentHighlightProvider(SELECTOR, {
      provideDocumentHighlights: at('textDocument/documentHighlight', found => found.map(h => new vscode.DocumentHighlight(convert.range(h.range), h.kind ? h.kind - 1 : undefined))),
    }));
    add(can.renameProvider, () => languages.registerRenameProvider(SELECTOR, {
      provideRenameEdits: (document, position, newName, token) => this.ask('textDocument/rename', { ...convert.toPlace(document, position), newName }, token, convert.workspaceEdit),
      prepareRename: can.renameProvider.prepareProvider
        ? async (document, position, token) => {
          const found = await this.ask('textDocument/prepareRename', convert.toPlace(document, position), token);
          if (!found) throw new Error('this cannot be renamed');
          if (found.defaultBehavior) return undefined;
          return found.placeholder ? { range: convert.range(found.range), placeholder: found.placeholder } : convert.range(found.range || found);
        }
        : undefined,
    }));
    add(can.completionProvider, () => languages.registerCompletionItemProvider(SELECTOR, {
      provideCompletionItems: (document, position, token, context) => this.ask('textDocument/completion', {
        ...convert.toPlace(document, position), context: { triggerKind: context.triggerKind + 1, triggerCharacter: context.triggerCharacter },
      }, token, convert.completions),
      resolveCompletionItem: can.completionProvider.resolveProvider
        ? (item, token) => this.ask('completionItem/resolve', item.original, token, more => Object.assign(item, { detail: more.detail, documentation: convert.documentation(more.documentation) }))
        : undefined,
    }, ...(can.completionProvider.triggerCharacters || [])));
    add(can.signatureHelpProvider, () => languages.registerSignatureHelpProvider(SELECTOR, {
      provideSignatureHelp: (document, position, token, context) => this.ask('textDocument/signatureHelp', {
        ...convert.toPlace(document, position), context: { triggerKind: context.triggerKind, triggerCharacter: context.triggerCharacter, isRetrigger: context.isRetrigger },
      }, token, convert.signatureHelp),
    }, { triggerCharacters: can.signatureHelpProvider.triggerCharacters || [], retriggerCharacters: can.signatureHelpProvider.retriggerCharacters || [] }));
    add(can.documentSymbolProvider, () => languages.registerDocumentSymbolProvider(SELECTOR, { provideDocumentSymbols: of('textDocument/documentSymbol', found => found.map(convert.symbol)) }));
    add(can.workspaceSymbolProvider, () => languages.registerWorkspaceSymbolProvider({
      provideWorkspaceSymbols: (query, token) => this.ask('workspace/symbol', { query }, token, found => found.map(convert.symbol)),
    }));
    add(can.foldingRangeProvider, () => languages.registerFoldingRangeProvider(SELECTOR, {
      provideFoldingRanges: (document, context, token) => this.ask('textDocument/foldingRange', { textDocument: convert.toDocument(document) }, token, found => found.map(convert.fold)),
    }));
    add(can.codeActionProvider, () => languages.registerCodeActionsProvider(SELECTOR, {
      provideCodeActions: (document, range, context, token) => this.ask('textDocument/codeAction', {
        textDocument: convert.toDocument(document), range: convert.toRange(range),
        context: { diagnostics: this.diagnosticsIn(document, range), only: context.only ? [context.only.value] : undefined, triggerKind: context.triggerKind },
      }, token, found => found.map(convert.codeAction)),
      resolveCodeAction: can.codeActionProvider.resolveProvider
        ? (action, token) => this.ask('codeAction/resolve', action.original, token, more => Object.assign(action, { edit: convert.workspaceEdit(more.edit), command: convert.command(more.command) }))
        : undefined,
    }));
    const formatting = options => ({ tabSize: options.tabSize, insertSpaces: options.insertSpaces });
    add(can.documentFormattingProvider, () => languages.registerDocumentFormattingEditProvider(SELECTOR, {
      provideDocumentFormattingEdits: (document, options, token) => this.ask('textDocument/formatting', { textDocument: convert.toDocument(document), options: formatting(options) }, token, convert.textEdits),
    }));
    add(can.documentRangeFormattingProvider, () => languages.registerDocumentRangeFormattingEditProvider(SELECTOR, {
      provideDocumentRangeFormattingEdits: (document, range, options, token) => this.ask('textDocument/rangeFormatting', {
        textDocument: convert.toDocument(document), range: convert.toRange(range), options: formatting(options),
      }, token, convert.textEdits),
    }));
    add(can.inlayHintProvider, () => languages.registerInlayHintsProvider(SELECTOR, {
      onDidChangeInlayHints: this.hintsChanged.event,
      provideInlayHints: (document, range, token) => this.ask('textDocument/inlayHint', { textDocument: convert.toDocument(document), range: convert.toRange(range) }, token, found => found.map(convert.inlayHint)),
      resolveInlayHint: can.inlayHintProvider.resolveProvider
        ? (hint, token) => this.ask('inlayHint/resolve', hint.original, token, more => Object.assign(hint, { tooltip: convert.documentation(more.tooltip) }))
        : undefined,
    }));
    this.provideTokens(can.semanticTokensProvider);
    const commands = (can.executeCommandProvider && can.executeCommandProvider.commands) || [];
    for (const name of commands) {
      this.subscriptions.push(vscode.commands.registerCommand(name, (...args) => this.ask('workspace/executeCommand', { command: name, arguments: args })));
    }
  }

  provideTokens(can) {
    if (!can) return;
    const legend = new vscode.SemanticTokensLegend(can.legend.tokenTypes, can.legend.tokenModifiers);
    const tokens = result => new vscode.SemanticTokens(new Uint32Array(result.data), result.resultId);
    if (can.full) {
      this.subscriptions.push(vscode.languages.registerDocumentSemanticTokensProvider(SELECTOR, {
        onDidChangeSemanticTokens: this.tokensChanged.event,
        provideDocumentSemanticTokens: (document, token) => this.ask('textDocument/semanticTokens/full', { textDocument: convert.toDocument(document) }, token, tokens),
      }, legend));
    }
    if (can.range) {
      this.subscriptions.push(vscode.languages.registerDocumentRangeSemanticTokensProvider(SELECTOR, {
        provideDocumentRangeSemanticTokens: (document, range, token) => this.ask('textDocument/semanticTokens/range', { textDocument: convert.toDocument(document), range: convert.toRange(range) }, token, tokens),
      }, legend));
    }
  }
}

async function activate(context) {
  const output = vscode.window.createOutputChannel('SIAL');
  client = new Client(output);
  context.subscriptions.push(
    output, client.diagnostics, client.hintsChanged, client.tokensChanged,
    vscode.commands.registerCommand('sial.restartServer', () => client.restart()),
    vscode.commands.registerCommand('sial.showOutput', () => output.show()),
  );
  if (vscode.workspace.onDidGrantWorkspaceTrust) context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(() => client.start()));
  await client.start();
}

async function deactivate() {
  if (client) await client.stop();
  client = undefined;
}

module.exports = { activate, deactivate };
