// JSON-RPC over the standard streams of a child process, as the Language Server Protocol frames it. No dependencies.
'use strict';

const { spawn } = require('child_process');

const CANCELLED = -32800;
const CONTENT_MODIFIED = -32801;
const SERVER_CANCELLED = -32802;
const METHOD_NOT_FOUND = -32601;

/** An answer that says no more than "not any longer": there is nothing to tell the user. */
function isStale(error) {
  return [CANCELLED, CONTENT_MODIFIED, SERVER_CANCELLED].includes(error && error.code);
}

class Connection {
  /**
   * @param {string} command
   * @param {string[]} args
   * @param {{notification: Function, request: Function, error: Function, exit: Function, trace?: Function}} handlers
   *   request(method, params) returns the answer or a promise of it; undefined: no such method
   */
  constructor(command, args, handlers, options = {}) {
    this.handlers = handlers;
    this.nextId = 1;
    this.waiting = new Map();
    this.buffer = Buffer.alloc(0);
    this.closed = false;
    this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
    this.process.on('error', error => this.end(error));
    this.process.on('exit', (code, signal) => this.end(null, code, signal));
    this.process.stdin.on('error', () => {}); // the exit says it all
    this.process.stdout.on('data', piece => this.receive(piece));
    this.process.stderr.on('data', piece => handlers.error(piece.toString()));
  }

  end(error, code, signal) {
    if (this.closed) return;
    this.closed = true;
    for (const { reject } of this.waiting.values()) reject(Object.assign(new Error('the language server ended'), { code: SERVER_CANCELLED }));
    this.waiting.clear();
    this.handlers.exit(error, code, signal);
  }

  receive(piece) {
    this.buffer = this.buffer.length ? Buffer.concat([this.buffer, piece]) : piece;
    for (;;) {
      const head = this.buffer.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = /content-length: *(\d+)/i.exec(this.buffer.subarray(0, head).toString('ascii'));
      if (!length) {
        this.handlers.error(`not a message of a language server: ${this.buffer.subarray(0, 200)}\n`);
        this.dispose();
        return;
      }
      const end = head + 4 + Number(length[1]);
      if (this.buffer.length < end) return;
      const text = this.buffer.subarray(head + 4, end).toString('utf8');
      this.buffer = this.buffer.subarray(end);
      let message;
      try {
        message = JSON.parse(text);
      } catch (error) {
        this.handlers.error(`cannot read a message: ${error.message}\n`);
        continue;
      }
      this.trace('<-', message);
      this.take(message);
    }
  }

  take(message) {
    if (message.method === undefined) {
      const request = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (!request) return;
      if (message.error) request.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
      else request.resolve(message.result === undefined ? null : message.result);
      return;
    }
    if (message.id === undefined) {
      this.handlers.notification(message.method, message.params || {});
      return;
    }
    Promise.resolve()
      .then(() => this.handlers.request(message.method, message.params || {}))
      .then(result => this.send(result === undefined
        ? { id: message.id, error: { code: METHOD_NOT_FOUND, message: `no ${message.method} here` } }
        : { id: message.id, result }))
      .catch(error => this.send({ id: message.id, error: { code: -32603, message: String(error && error.message) } }));
  }

  trace(direction, message) {
    if (this.handlers.trace) this.handlers.trace(`${direction} ${JSON.stringify(message).slice(0, 2000)}`);
  }

  send(message) {
    if (this.closed) return;
    this.trace('->', message);
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }), 'utf8');
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  /** The result; rejects with the server's error and its code. A cancelled token is passed on to the server. */
  request(method, params, token) {
    if (this.closed) return Promise.reject(Object.assign(new Error('no language server'), { code: SERVER_CANCELLED }));
    if (token && token.isCancellationRequested) return Promise.reject(Object.assign(new Error('cancelled'), { code: CANCELLED }));
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const listener = token && token.onCancellationRequested(() => this.notify('$/cancelRequest', { id }));
      const last = settle => value => {
        if (listener) listener.dispose();
        settle(value);
      };
      this.waiting.set(id, { resolve: last(resolve), reject: last(reject) });
      this.send({ id, method, params });
    });
  }

  /** Asks the server to end; a server that does not is ended. */
  async shutdown(patience = 2000) {
    if (this.closed) return;
    const gone = new Promise(resolve => this.process.once('exit', resolve));
    const late = new Promise(resolve => setTimeout(resolve, patience).unref());
    this.handlers.exit = () => {};
    try {
      await Promise.race([this.request('shutdown', null), late]);
      this.notify('exit', null);
      await Promise.race([gone, late]);
    } catch (error) {
      // it ended before it answered
    }
    this.dispose();
  }

  dispose() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill();
  }
}

module.exports = { Connection, isStale };
