// tree-sitter grammar of SIAL. Written by grammar/editors/generate_editors.py: change templates/grammar.js there.
// It follows grammar/SialParser.g4; what that leaves to lines is left to lines here.

/** A keyword whose letters may be large or small; in queries it has its name in small letters. */
function keyword(word) {
  const letters = [...word].map(c => (/[a-z]/.test(c) ? `[${c}${c.toUpperCase()}]` : c)).join('');
  return alias(new RegExp(letters), word);
}

const commaSeparated = rule => seq(rule, repeat(seq(',', rule)));

module.exports = grammar({
  name: 'sial',

  extras: $ => [/[ \t\f\uFEFF]/, $.comment],
  word: $ => $.identifier,

  rules: {
    source_file: $ => seq(repeat($._newline), repeat(seq($.import, $._lines)), $.program),

    _newline: _ => /\r?\n|\r/,
    _lines: $ => repeat1($._newline),
    comment: _ => token(/#[^\r\n]*/),
    identifier: _ => /[a-zA-Z][a-zA-Z0-9_.]*/,
    real: _ => /[0-9]+\.[0-9]*|\.[0-9]+/,
    integer: _ => /[0-9]+/,
    string: _ => /"[^"\r\n]*"/,

    import: $ => seq(keyword('import'), $.string),
    program: $ => seq(keyword('sial'), field('name', $.identifier), $._lines, repeat(seq(choice($._declaration, $.procedure), $._lines)),
      repeat(seq($._statement, $._lines)), keyword('endsial'), field('end', $.identifier), repeat($._newline)),

    // ---- declarations
    _declaration: $ => choice($.scalar_declaration, $.array_declaration, $.index_declaration, $.subindex_declaration, $.special_declaration),
    _modifiers: $ => repeat1($.modifier),
    modifier: _ => choice(keyword('predefined'), keyword('contiguous'), keyword('sparse')),
    scalar_declaration: $ => seq(optional($._modifiers), choice(keyword('scalar'), keyword('int')), field('name', $.identifier), optional(seq('=', choice($.real, $.integer)))),
    array_declaration: $ => seq(optional($._modifiers), choice(keyword('static'), keyword('temp'), keyword('local'), keyword('distributed'), keyword('served')),
      field('name', $.identifier), '[', commaSeparated($.identifier), ']'),
    index_declaration: $ => seq(optional($._modifiers), choice(keyword('aoindex'), keyword('moindex'), keyword('moaindex'), keyword('mobindex'), keyword('index'), keyword('laindex')),
      field('name', $.identifier), '=', $._bound, ':', $._bound),
    _bound: $ => choice(seq(optional('-'), $.integer), $.identifier),
    subindex_declaration: $ => seq(keyword('subindex'), field('name', $.identifier), keyword('of'), $.identifier),
    special_declaration: $ => seq(keyword('special'), field('name', $.identifier), optional(field('signature', $.identifier))),

    procedure: $ => seq(keyword('proc'), field('name', $.identifier), $._lines, repeat(seq($._statement, $._lines)), keyword('endproc'), field('end', $.identifier)),

    // ---- statements
    _statement: $ => choice($.do_loop, $.pardo_loop, $.if_statement, $.section, $.gpu_section, $._line),
    do_loop: $ => seq(keyword('do'), $.identifier, optional(seq(keyword('in'), $.identifier)), $._lines, repeat(seq($.where, $._lines)),
      repeat(seq($._statement, $._lines)), keyword('enddo'), $.identifier, optional(seq(keyword('in'), $.identifier))),
    pardo_loop: $ => seq(keyword('pardo'), commaSeparated($.identifier), optional($.string), $._lines, repeat(seq($.where, $._lines)),
      repeat(seq($._statement, $._lines)), keyword('endpardo'), commaSeparated($.identifier)),
    where: $ => seq(keyword('where'), $.relation),
    if_statement: $ => seq(keyword('if'), $.relation, $._lines, repeat(seq($._statement, $._lines)), optional($.else), keyword('endif')),
    else: $ => seq(keyword('else'), $._lines, repeat(seq($._statement, $._lines))),
    section: $ => seq(keyword('section'), $._lines, repeat(seq($._statement, $._lines)), keyword('endsection')),
    gpu_section: $ => seq(keyword('gpu_on'), $._lines, repeat(seq($._statement, $._lines)), keyword('gpu_off')),

    _line: $ => choice($.call, $.jump, $.barrier, $.allocate, $.remove, $.get, $.put, $.collective, $.broadcast, $.print, $.execute, $.persistent, $.gpu, $.assignment),
    call: $ => seq(keyword('call'), field('name', $.identifier)),
    jump: _ => choice(keyword('return'), keyword('stop'), keyword('exit')),
    barrier: _ => choice(keyword('sip_barrier'), keyword('server_barrier')),
    allocate: $ => seq(choice(keyword('allocate'), keyword('deallocate')), choice(
      seq($.identifier, optional(seq('[', commaSeparated(choice($.identifier, '*')), ']'))),
      seq(keyword('contiguous'), $.region))),
    remove: $ => seq(choice(keyword('create'), keyword('delete'), keyword('destroy'), keyword('assert_same')), $.identifier),
    get: $ => seq(choice(keyword('get'), keyword('request')), $.block),
    put: $ => seq(choice(keyword('put'), keyword('prepare')), $.block, $._assign, $._expression),
    collective: $ => seq(keyword('collective'), $.identifier, $._assign, $._expression),
    broadcast: $ => seq(keyword('broadcast_from'), $._primary, $.identifier),
    print: $ => seq(choice(keyword('print'), keyword('println')), choice($._expression, $.inspection)),
    inspection: $ => seq(field('name', $.identifier), '(', commaSeparated($._expression), ')'),
    execute: $ => seq(keyword('execute'), field('name', $.identifier), repeat($.argument)),
    argument: $ => choice($.region, $.block, $.identifier, $.real, $.integer),
    persistent: $ => seq(choice(keyword('set_persistent'), keyword('restore_persistent')), $.identifier, $.string),
    gpu: $ => seq(choice(keyword('gpu_allocate'), keyword('gpu_free'), keyword('gpu_put'), keyword('gpu_get')), $.argument),
    assignment: $ => seq(choice($.identifier, $.block, $.region), $._assign, $._expression),
    _assign: _ => choice('=', '+=', '-=', '*='),

    // ---- blocks and regions
    block: $ => seq(field('array', $.identifier), '[', commaSeparated($.index), ']'),
    index: $ => seq(optional(seq('(', keyword('index'), ')')), $.identifier),
    region: $ => seq(field('array', $.identifier), '[', commaSeparated($.range), ']'),
    range: $ => seq($._expression, ':', $._expression),

    // ---- expressions
    relation: $ => seq($._expression, choice('<', '>', '<=', '>=', '==', '!='), $._expression),
    _expression: $ => choice($.binary, $.cast, $.unary, $._primary),
    binary: $ => choice(
      prec.left(1, seq($._expression, choice('+', '-'), $._expression)),
      prec.left(2, seq($._expression, choice('*', '/', '^'), $._expression)),
      prec.left(3, seq($._expression, '**', $._expression))),
    cast: $ => prec(4, seq('(', choice(keyword('int'), keyword('scalar'), keyword('index')), ')', choice($.cast, $.unary, $._primary))),
    unary: $ => prec(5, seq(choice('-', keyword('sqrt')), $._primary)),
    parenthesis: $ => seq('(', $._expression, ')'),
    _primary: $ => choice($.parenthesis, $.integer, $.real, $.string, $.block, $.region, $.identifier),
  },
});
