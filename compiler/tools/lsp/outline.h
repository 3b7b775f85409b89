#pragma once
// The outline of a file from its tokens, without a tree: its declarations, the uses of names, and the blocks that lines
// open and close. A name of SIAL means the same everywhere in its file, so this answers what an editor asks about
// names, in half typed programs as well. A value; made from a text in one pass.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ast/line_trees.h"
#include "compiler/ast/tokens.h"
#include "compiler/tools/lsp/text.h"

namespace sial::lsp {

enum class DeclKind { program, scalar, int_, index, subindex, array, special, proc };

struct Declared {
  DeclKind kind = DeclKind::scalar;
  std::string name, text;            // lower case, as written
  std::uint32_t begin = 0, end = 0;  // of the name
  int line = 0, end_line = 0;        // procedures and programs: to their end
  std::string word;                  // its keyword: "temp", "aoindex", "scalar", ...
  bool predefined = false, contiguous = false, sparse = false;
  std::vector<std::string> dims;  // array
  std::string parent;             // subindex
  std::string signature;          // special

  bool remote() const { return word == "distributed" || word == "served"; }
};

/// `defs.norb`: qualifier `defs`, name `norb`.
struct NameUse {
  std::string name, qualifier;
  std::uint32_t begin = 0, end = 0;  // of the name, without the qualifier
  std::uint32_t qualifier_begin = 0, qualifier_end = 0;
  int line = 0;
  bool declares = false;
};

struct ImportLine {
  std::string path;
  std::uint32_t begin = 0, end = 0;  // of the string, with its quotes
  int line = 0;
};

/// From the line that opens it to the line that closes it, or to the last line that can belong to it.
struct Block {
  std::string word;                // sial, proc, do, pardo, if, section, gpu_on
  std::vector<std::string> names;  // after the word
  int line = 0, end_line = 0, else_line = -1;
  int parent = -1;  // position in Outline::blocks
  bool closed = false;
};

struct TokenLine {
  int line = 0;
  std::vector<ClassedToken> tokens;
};

struct Outline {
  std::vector<TokenLine> lines;  // that have tokens
  std::vector<Declared> declared;
  std::map<std::string, std::size_t> by_name;  // of everything but the program: the first declaration of a name
  std::vector<NameUse> uses;                   // in the order of the text
  std::vector<ImportLine> imports;
  std::vector<Block> blocks;  // outer before inner
  std::string program;        // its name, lower case

  const Declared* find(const std::string& name) const;
  const Declared* program_declared() const;
  const TokenLine* tokens_of(int line) const;
  /// Innermost block around a line, or -1; its opening line is not inside, its closing line neither.
  int block_around(int line) const;
};

Outline outline_of(const Text& text, LineTrees& known);

/// The comment lines directly above a line and the one at its end, without `#`; empty when there is none.
std::string comment_at(const Text& text, int line);

/// The closing word of a block's opening word.
std::string closing_word(const std::string& word);
bool begins_declaration(const std::string& keyword);

}  // namespace sial::lsp
