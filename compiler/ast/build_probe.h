#pragma once
// Asks the grammar about a single line: how far a rule accepts its tokens, and what could stand at a place instead.
// Private to the parser.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ast/build_tokens.h"

namespace sial::parsing {

/// The grammar's rules for the content of one line.
enum class LineRule {
  import_line,
  program_header,
  program_end,
  declaration,
  proc_header,
  proc_end,
  do_header,
  do_end,
  pardo_header,
  pardo_end,
  where_line,
  if_header,
  else_header,
  if_end,
  section_header,
  section_end,
  gpu_header,
  gpu_end,
  statement
};

/// The rule a line beginning with this kind of token belongs to.
LineRule rule_of_line(int first_type);
/// Keywords with which a line may begin.
bool begins_line(int type);
bool begins_declaration(int type);

/// Answers of refused_at by rule and kinds of tokens, which are all that they depend on.
using ProbeMemo = std::unordered_map<std::string, std::optional<std::size_t>>;

class LineProbe {
 public:
  /// `memo` outlives the probe; null: it keeps its own.
  explicit LineProbe(ProbeMemo* memo = nullptr);
  ~LineProbe();

  /// Position of the first token the rule does not accept; the number of tokens when the line is too short; nullopt:
  /// accepted.
  std::optional<std::size_t> refused_at(LineRule rule, const std::vector<Token>& tokens);
  /// Whether `type` (NL: the end of the line) is possible after the first `count` tokens.
  bool could_follow(LineRule rule, const std::vector<Token>& tokens, std::size_t count, int type);
  /// The possible tokens there, in words: "`]`, `,` or an operator"; empty when that would be a long list.
  std::string expected(LineRule rule, const std::vector<Token>& tokens, std::size_t count);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
  ProbeMemo own_memo_;
  ProbeMemo& memo_;
};

}  // namespace sial::parsing
