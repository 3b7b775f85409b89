// Prints the rules of a tree-sitter grammar as JSON, without tree-sitter: tree_sitter_rules.js grammar.js
'use strict';

const rule = value => (value instanceof RegExp ? { type: 'PATTERN', value: value.source } : typeof value === 'string' ? { type: 'STRING', value } : value);
const several = type => (...members) => ({ type, members: members.map(rule) });
const ranked = type => (value, content) => (content === undefined ? { type, value: 0, content: rule(value) } : { type, value, content: rule(content) });

Object.assign(globalThis, {
  seq: several('SEQ'),
  choice: several('CHOICE'),
  repeat: content => ({ type: 'REPEAT', content: rule(content) }),
  repeat1: content => ({ type: 'REPEAT1', content: rule(content) }),
  optional: content => ({ type: 'CHOICE', members: [rule(content), { type: 'BLANK' }] }),
  field: (name, content) => ({ type: 'FIELD', name, content: rule(content) }),
  alias: (content, value) => ({ type: 'ALIAS', content: rule(content), value }),
  token: content => ({ type: 'TOKEN', content: rule(content) }),
  prec: Object.assign(ranked('PREC'), { left: ranked('PREC_LEFT'), right: ranked('PREC_RIGHT') }),
  grammar: description => description,
});

const description = require(require('path').resolve(process.argv[2]));
const $ = new Proxy({}, {
  get: (_, name) => {
    if (!(name in description.rules)) throw new Error(`there is no rule ${name}`);
    return { type: 'SYMBOL', name };
  },
});
const rules = Object.fromEntries(Object.entries(description.rules).map(([name, body]) => [name, rule(body($))]));
console.log(JSON.stringify({ name: description.name, rules, extras: description.extras($).map(rule), word: description.word($).name, conflicts: (description.conflicts ? description.conflicts($) : []).map(set => set.map(s => s.name)) }));
