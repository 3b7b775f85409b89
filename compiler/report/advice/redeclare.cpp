// Other orders of indices in the text of a source: the declaration of an array and each reference to it, wherever the
// text may break lines, leaving comments and strings alone.

#include <algorithm>
#include <cctype>

#include "compiler/report/advice/declarations.h"

namespace sial::report {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@'; }

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

class Rewriter {
 public:
  Rewriter(const std::string& text, const std::vector<Redeclaration>& changes) : text_(text), changes_(changes) {}

  std::optional<std::string> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') copy_to(std::min(text_.find_first_of("\r\n", at_), text_.size()));
      else if (c == '"') copy_to(std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1);
      else if (in_name(c)) name();
      else copy_to(at_ + 1);
    }
    return failed_ ? std::nullopt : std::optional(std::move(out_));
  }

 private:
  void copy_to(std::size_t end) {
    out_.append(text_, at_, end - at_);
    at_ = end;
  }

  void name() {
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    const std::string word = lower(text_.substr(at_, end - at_));
    copy_to(end);
    const auto change =
        std::find_if(changes_.begin(), changes_.end(), [&](const Redeclaration& r) { return r.array == word; });
    if (change == changes_.end()) return;
    const std::size_t open = text_.find_first_not_of(" \t", at_);
    if (open == std::string::npos || text_[open] != '[') return;  // the whole array
    copy_to(open + 1);
    indices(change->order);
  }

  /// After the bracket: the parts between commas, in their new order.
  void indices(const std::vector<int>& order) {
    std::vector<std::string> parts{""};
    int depth = 0;
    std::size_t end = at_;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '#' || c == '\n' || c == '"') break;
      if (c == ']' && depth == 0) break;
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c == ',' && depth == 0) parts.emplace_back();
      else parts.back() += c;
    }
    if (end >= text_.size() || text_[end] != ']' || parts.size() != order.size()) {
      failed_ = true;
      return;
    }
    std::string list;
    for (const int place : order) list += (list.empty() ? "" : ",") + trimmed(parts[static_cast<std::size_t>(place)]);
    out_ += list;
    at_ = end;
  }

  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
  }

  const std::string& text_;
  const std::vector<Redeclaration>& changes_;
  std::string out_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> redeclared(const std::string& text, const std::vector<Redeclaration>& changes) {
  return Rewriter(text, changes).run();
}

}  // namespace sial::report
