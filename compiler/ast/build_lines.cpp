#include "compiler/ast/build_lines.h"

#include <SialLexer.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/ast/build.h"
#include "compiler/ast/build_explain.h"
#include "compiler/ast/build_probe.h"
#include "compiler/ast/build_words.h"

namespace sial::parsing {
namespace {

using L = SialLexer;

/// Enough to work on; more would mostly repeat one misunderstanding.
constexpr int max_errors_per_file = 100;

enum class Kind { program, proc, do_, pardo, if_, section, gpu };

struct KindWords {
  int opener, closer;
  const char* open_text;
  const char* close_text;
};

KindWords words(Kind kind) {
  switch (kind) {
    case Kind::program: return {L::SIAL, L::ENDSIAL, "sial", "endsial"};
    case Kind::proc: return {L::PROC, L::ENDPROC, "proc", "endproc"};
    case Kind::do_: return {L::DO, L::ENDDO, "do", "enddo"};
    case Kind::pardo: return {L::PARDO, L::ENDPARDO, "pardo", "endpardo"};
    case Kind::if_: return {L::IF, L::ENDIF, "if", "endif"};
    case Kind::section: return {L::SECTION, L::ENDSECTION, "section", "endsection"};
    default: return {L::GPU_ON, L::GPU_OFF, "gpu_on", "gpu_off"};
  }
}

bool is_named(Kind kind) {
  return kind == Kind::program || kind == Kind::proc || kind == Kind::do_ || kind == Kind::pardo;
}

struct Frame {
  Kind kind = Kind::program;
  std::vector<std::string> names;  // lower case; empty when the header was not understood: any closer of the kind fits
  Span header;
  bool has_else = false;
  bool declaration_reported = false;
};

class LineReader {
 public:
  LineReader(const std::vector<Line>& lines, const SourceManager& sources, FileId file, Emitter& emitter,
             ProbeMemo* memo)
      : lines_(lines),
        sources_(sources),
        file_(file),
        emitter_(emitter),
        errors_before_(emitter.error_count()),
        probe_(memo) {}

  void read() {
    if (!find_program()) return;
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      if (emitter_.error_count() - errors_before_ >= max_errors_per_file) {
        emitter_.report(Code::E_SYNTAX, place(lines_[at_]), "too many errors; the rest of the file was not looked at");
        return;
      }
      if (phase_ == Phase::after) {
        trailing(lines_[at_]);
        return;
      }
      read_line(lines_[at_]);
    }
    end_of_file();
  }

 private:
  enum class Phase { before, declarations, statements, after };

  Span place(const Line& line) const { return {file_, line.tokens.front().begin, line.tokens.back().end}; }

  bool find_program() {
    const auto begins_program = [&](const Line& line) {
      const int first = line.tokens.front().type;
      if (first == L::SIAL) return true;
      const std::optional<Correction> meant = meant_keyword(LineView(line, sources_, file_));
      return meant && meant->type == L::SIAL;
    };
    if (std::any_of(lines_.begin(), lines_.end(), begins_program)) return true;
    const Span at = lines_.empty() ? Span{file_, 0, 0} : place(lines_.front());
    emitter_.report(Code::E_NO_PROGRAM, at, "the file holds no program: there is no line `sial NAME`",
                    "a program is `sial NAME`, declarations, statements, `endsial NAME`");
    return false;
  }

  void trailing(const Line& line) {
    const bool second = line.tokens.front().type == L::SIAL;
    emitter_
        .report(Code::E_TRAILING, place(line),
                second ? "a second program in one file" : "text after the end of the program",
                second ? "put it into a file of its own" : "only comments may follow `endsial`")
        .notes.push_back({end_of_program_, "the program ends here"});
  }

  // ---- one line
  void read_line(const Line& original) {
    Line corrected;
    const Line* line = &original;
    bool reported = false;
    const LineRule own_rule = rule_of_line(original.tokens.front().type);
    if (own_rule == LineRule::statement && probe_.refused_at(own_rule, original.tokens)) {
      const LineView view(original, sources_, file_);
      if (const std::optional<Correction> meant = meant_keyword(view)) {
        corrected = original;
        corrected.tokens.erase(corrected.tokens.begin(),
                               corrected.tokens.begin() + static_cast<std::ptrdiff_t>(meant->tokens - 1));
        corrected.tokens.front().type = meant->type;
        if (meant->tokens > 1 || !probe_.refused_at(rule_of_line(meant->type), corrected.tokens)) {
          const Span span = view.span(0, meant->tokens - 1);
          emitter_
              .report(Code::E_SYNTAX, span, fmt::format("`{}` is no keyword", sources_.slice(span)),
                      fmt::format("did you mean `{}`?", keyword_text(meant->type)))
              .fix(replace(span, keyword_text(meant->type)));
          line = &corrected;
          reported = true;
        }
      } else if (const ForeignWord* foreign = foreign_word(view.lower(0));
                 foreign && translate(*foreign, corrected = original)) {
        emitter_.report(foreign->code, view.span(0), foreign->message, foreign->hint)
            .fix(replace(view.span(0), foreign->replacement));
        line = &corrected;
        reported = true;
      }
    }
    dispatch(*line, reported);
  }

  /// The line with the word of this language for one of another; false: there is none, or the line is wrong with it.
  bool translate(const ForeignWord& foreign, Line& line) {
    for (const auto& [type, text] : keywords()) {
      if (text != foreign.replacement) continue;
      line.tokens.front().type = type;
      return !probe_.refused_at(rule_of_line(type), line.tokens);
    }
    return false;
  }

  void dispatch(const Line& line, bool reported) {
    const LineView view(line, sources_, file_);
    const int first = view.type(0);
    const LineRule rule = rule_of_line(first);
    const bool where_possible = std::exchange(where_possible_, false);
    if (phase_ == Phase::before && first != L::IMPORT && first != L::SIAL) {
      emitter_.report(Code::E_SYNTAX, view.whole(), "expected `import` or `sial NAME` here",
                      "the program begins with `sial NAME`");
      phase_ = Phase::declarations;
      frames_.push_back({Kind::program, {}, view.whole()});
      reported = true;
    }
    if (first == L::IMPORT && phase_ != Phase::before) {
      emitter_
          .report(Code::E_IMPORT_ORDER, view.whole(), "imports come before `sial NAME`",
                  "move the line to the top of the file")
          .fix(moved("move it above `sial`", view, frames_.front().header));
      return;
    }
    if (first == L::SIAL && phase_ != Phase::before) {
      if (frames_.front().names.empty()) frames_.front() = {Kind::program, names_in(view), view.whole()};
      else
        emitter_.report(Code::E_SYNTAX, view.whole(), "a second `sial` in one program")
            .notes.push_back({frames_.front().header, "the first one is here"});
      return;
    }
    if (first == L::ELSE) {
      read_else(view);
      return;
    }
    if (rule == LineRule::declaration || first == L::PROC) reported = misplaced_declaration(view) || reported;
    if (rule == LineRule::where_line && !where_possible) {
      emitter_.report(
          Code::E_WHERE_PLACE, view.span(0), "`where` is possible directly below the header of a loop only",
          frames_.empty() || innermost_loop() < 0 ? "use `if`" : "move it up to the header of the loop, or use `if`");
      reported = true;
    }
    const bool is_statement = rule == LineRule::statement || is_opener_of_statement(first);
    if (is_statement && phase_ == Phase::declarations && !in_procedure()) {
      phase_ = Phase::statements;
      first_statement_ = view.whole();
    }
    bool refused = false;
    if (!reported) refused = check(view, rule);
    if (const std::optional<Kind> kind = opened_by(first)) {
      open(*kind, view, refused);
    } else if (const std::optional<Kind> closed = closed_by(first)) {
      close(*closed, view);
    } else if (first == L::IDENT && is_else_if_word(view.lower(0))) {
      absorb_else_if();
    }
    if (rule == LineRule::where_line) where_possible_ = where_possible;
  }

  bool check(const LineView& view, LineRule rule) {
    const std::optional<std::size_t> refused = probe_.refused_at(rule, view.tokens());
    if (!refused) return false;
    explain_refused_line(view, rule, *refused, expected_end(rule), probe_, emitter_);
    return true;
  }

  static bool is_else_if_word(const std::string& word) { return word == "elseif" || word == "elsif" || word == "elif"; }
  static bool is_opener_of_statement(int t) {
    return t == L::DO || t == L::PARDO || t == L::IF || t == L::SECTION || t == L::GPU_ON;
  }
  static constexpr Kind all_kinds[] = {Kind::program, Kind::proc,    Kind::do_, Kind::pardo,
                                       Kind::if_,     Kind::section, Kind::gpu};
  static std::optional<Kind> opened_by(int type) {
    for (const Kind k : all_kinds)
      if (words(k).opener == type) return k;
    return std::nullopt;
  }
  static std::optional<Kind> closed_by(int type) {
    for (const Kind k : all_kinds)
      if (words(k).closer == type) return k;
    return std::nullopt;
  }

  std::vector<std::string> names_in(const LineView& view) const {
    std::vector<std::string> out;
    for (std::size_t i = 1; i < view.size(); ++i)
      if (view.type(i) == L::IDENT) out.push_back(view.lower(i));
    return out;
  }
  static std::string text_of(const std::vector<std::string>& names, Kind kind) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : kind == Kind::do_ ? " in " : ", ") + n;
    return out;
  }
  static std::string header_text(const Frame& f) {
    const std::string names = text_of(f.names, f.kind);
    return names.empty() ? std::string(words(f.kind).open_text) : fmt::format("{} {}", words(f.kind).open_text, names);
  }
  static std::string closer_text(const Frame& f) {
    const std::string names = text_of(f.names, f.kind);
    return names.empty() ? std::string(words(f.kind).close_text)
                         : fmt::format("{} {}", words(f.kind).close_text, names);
  }
  std::string expected_end(LineRule rule) const {
    for (auto f = frames_.rbegin(); f != frames_.rend(); ++f)
      if (rule_of_line(words(f->kind).closer) == rule && !f->names.empty()) return closer_text(*f);
    return {};
  }

  bool in_procedure() const {
    return std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.kind == Kind::proc; });
  }
  /// Frames below this one cannot be closed from here.
  std::size_t scope_base() const {
    std::size_t base = 0;
    for (std::size_t k = 0; k < frames_.size(); ++k)
      if (frames_[k].kind == Kind::program || frames_[k].kind == Kind::proc) base = k + 1;
    return base;
  }
  int innermost_loop() const {
    for (std::size_t k = frames_.size(); k-- > scope_base();)
      if (frames_[k].kind == Kind::do_ || frames_[k].kind == Kind::pardo) return static_cast<int>(k);
    return -1;
  }

  bool misplaced_declaration(const LineView& view) {
    const bool proc = view.type(0) == L::PROC;
    if (proc && in_procedure() && !procedure_closed_later()) {
      std::size_t outer = frames_.size() - 1;
      while (frames_[outer].kind != Kind::proc) --outer;
      close_above(outer - 1, view.whole(), view.lower(0));
    }
    Frame* scope = &frames_.front();
    for (Frame& f : frames_)
      if (f.kind == Kind::proc) scope = &f;
    const bool inside = scope->kind == Kind::proc;
    if (!inside && phase_ != Phase::statements) return false;
    const bool first = !std::exchange(scope->declaration_reported, true);
    if (inside && proc)
      emitter_.report(Code::E_PROC_FORM, view.whole(), "a procedure inside a procedure", "close the outer one first")
          .notes.push_back({scope->header, "the outer one begins here"});
    else if (first && inside)
      emitter_
          .report(Code::E_DECL_ORDER, view.whole(), "a declaration inside a procedure",
                  "move it above the procedure, together with any others")
          .fix(moved_declarations("above the procedure", true, scope->header))
          .notes.push_back({scope->header, "the procedure begins here"});
    else if (first) {
      Diagnostic& d =
          emitter_.report(Code::E_DECL_ORDER, view.whole(),
                          proc ? "a procedure after the first statement" : "a declaration after the first statement",
                          "move it above the statements, together with any others");
      if (!proc) d.fix(moved_declarations("above the statements", false, first_statement_));
    }
    return first || (inside && proc);
  }

  /// From the statement to the end of its line.
  std::string with_comment(Span statement) const {
    const std::string_view rest = sources_.text(file_).substr(statement.begin);
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    return std::string(line.substr(0, line.find_last_not_of(" \t") + 1));
  }

  /// The line, above another one.
  Fix moved(std::string title, const LineView& view, Span target) const {
    return {std::move(title),
            {{Edit::What::remove_lines, view.whole()}, {Edit::What::line_above, target, with_comment(view.whole())}}};
  }

  /// This declaration and those that follow it in the procedure, or outside of procedures, above another line.
  Fix moved_declarations(const char* where, bool in_procedure, Span target) const {
    Fix fix{fmt::format("move it {}", where), {}};
    bool skipping = false;
    for (std::size_t k = at_; k < lines_.size(); ++k) {
      const LineView view(lines_[k], sources_, file_);
      const int first = view.type(0);
      if (first == L::ENDSIAL || (in_procedure && first == L::ENDPROC)) break;
      if (first == L::PROC || first == L::ENDPROC) skipping = first == L::PROC;
      if (skipping || (k != at_ && rule_of_line(first) != LineRule::declaration)) continue;
      Fix one = moved({}, view, target);
      fix.edits.insert(fix.edits.end(), one.edits.begin(), one.edits.end());
      if (k != at_) fix.title = fmt::format("move the declarations {}", where);
    }
    return fix;
  }

  // ---- block structure
  void open(Kind kind, const LineView& view, bool refused) {
    // A whole block on one refused line: its end is there already.
    if (refused)
      for (std::size_t i = 1; i < view.size(); ++i)
        if (view.type(i) == words(kind).closer) return;
    if (kind == Kind::program) phase_ = Phase::declarations;
    Frame frame{kind, {}, view.whole()};
    if (is_named(kind)) {
      frame.names = names_in(view);
      if (refused && !frame.names.empty() && kind != Kind::pardo) frame.names.resize(1);
      if (refused && kind == Kind::pardo) frame.names.clear();
    }
    frames_.push_back(std::move(frame));
    where_possible_ = kind == Kind::do_ || kind == Kind::pardo;
  }

  void close(Kind kind, const LineView& view) {
    const std::vector<std::string> names = is_named(kind) ? names_in(view) : std::vector<std::string>();
    if (kind == Kind::program || kind == Kind::proc) close_scope(kind, names, view);
    else if (is_named(kind)) close_loop(kind, names, view);
    else close_anonymous(kind, view);
  }

  void close_scope(Kind kind, const std::vector<std::string>& names, const LineView& view) {
    std::size_t found = frames_.size();
    for (std::size_t k = frames_.size(); k-- > 0;)
      if (frames_[k].kind == kind) {
        found = k;
        break;
      }
    if (found == frames_.size()) {
      emitter_
          .report(Code::E_UNMATCHED, view.whole(),
                  fmt::format("`{}` without `{}`", words(kind).close_text, words(kind).open_text))
          .fix(offered(remove_lines("remove this line", {view.whole()})));
      return;
    }
    close_above(found, view.whole(), words(kind).close_text);
    const Frame frame = frames_.back();
    frames_.pop_back();
    orphans_.clear();
    if (!names.empty() && !frame.names.empty() && names.front() != frame.names.front()) {
      const char* what = kind == Kind::program ? "program" : "procedure";
      emitter_
          .report(Code::E_END_NAME, view.span(1), fmt::format("the {} is called `{}`", what, frame.names.front()),
                  fmt::format("write `{}`", closer_text(frame)))
          .fix(replace(view.span(1), frame.names.front()))
          .notes.push_back({frame.header, fmt::format("the {} begins here", what)});
    }
    if (kind == Kind::program) {
      phase_ = Phase::after;
      end_of_program_ = view.whole();
    }
  }

  void close_loop(Kind kind, const std::vector<std::string>& names, const LineView& view) {
    const std::size_t base = scope_base();
    std::size_t found = frames_.size();
    for (std::size_t k = frames_.size(); k-- > base && found == frames_.size();)
      if (frames_[k].kind == kind && (names.empty() || frames_[k].names.empty() || frames_[k].names == names))
        found = k;
    const bool top_is_loop =
        frames_.size() > base && (frames_.back().kind == Kind::do_ || frames_.back().kind == Kind::pardo);
    if (found < frames_.size()) {
      const bool misnamed = found + 1 < frames_.size() && frames_.back().kind == kind && closed_later(frames_[found]) &&
                            !closed_later(frames_.back());
      if (!misnamed) {
        close_above(found, view.whole(), closer_text({kind, names, {}}));
        frames_.pop_back();
        return;
      }
    } else if (swallow(kind, names)) {
      return;
    }
    if (top_is_loop && (frames_.back().kind == kind || frames_.back().names == names)) {
      const Frame frame = frames_.back();
      frames_.pop_back();
      const bool other_kind = frame.kind != kind;
      const Span span = other_kind || view.size() < 2 ? view.span(0) : view.span(1, view.size() - 1);
      emitter_
          .report(Code::E_LOOP_NAMES, span, fmt::format("the loop that ends here is `{}`", header_text(frame)),
                  fmt::format("write `{}`", closer_text(frame)))
          .fix(replace(view.whole(), closer_text(frame)))
          .notes.push_back({frame.header, "the loop begins here"});
      return;
    }
    emitter_
        .report(Code::E_UNMATCHED, view.whole(),
                names.empty()
                    ? fmt::format("`{}` without an open loop", words(kind).close_text)
                    : fmt::format("no loop `{} {}` is open here", words(kind).open_text, text_of(names, kind)))
        .fix(offered(remove_lines("remove this line", {view.whole()})));
  }

  void close_anonymous(Kind kind, const LineView& view) {
    if (const std::optional<std::size_t> found = find_anonymous(kind)) {
      close_above(*found, view.whole(), words(kind).close_text);
      frames_.pop_back();
    } else if (!swallow(kind, {})) {
      emitter_
          .report(Code::E_UNMATCHED, view.span(0),
                  fmt::format("`{}` without `{}`", words(kind).close_text, words(kind).open_text))
          .fix(offered(remove_lines("remove this line", {view.whole()})));
    }
  }

  /// The frame an `endif` or `else` belongs to. An open loop between that is closed further down says: to none.
  std::optional<std::size_t> find_anonymous(Kind kind) const {
    for (std::size_t k = frames_.size(); k-- > scope_base();) {
      if (frames_[k].kind == kind) return k;
      if (is_named(frames_[k].kind) && closed_later(frames_[k])) return std::nullopt;
    }
    return std::nullopt;
  }

  void read_else(const LineView& view) {
    const bool else_if = view.type(1) == L::IF;
    if (else_if)
      emitter_.report(Code::E_ELSE_IF, view.span(0, 1), "there is no `else if`",
                      "nest an `if` of its own inside the `else`, with its own `endif`");
    else check(view, LineRule::else_header);
    const std::optional<std::size_t> found = find_anonymous(Kind::if_);
    if (!found) {
      emitter_.report(Code::E_UNMATCHED, view.span(0), "`else` without `if`");
      return;
    }
    close_above(*found, view.whole(), "else");
    if (else_if) {
      absorb_else_if();
      return;
    }
    if (frames_.back().has_else)
      emitter_.report(Code::E_UNMATCHED, view.span(0), "a second `else` in one `if`")
          .notes.push_back({frames_.back().header, "the `if` begins here"});
    frames_.back().has_else = true;
  }

  /// The author may or may not have written an `endif` for the inner `if` of an `else if`: one too many is no error
  /// now.
  void absorb_else_if() { orphans_.push_back({Kind::if_, {}, {}}); }

  /// Reports and drops the frames above `found`, which `closer` shows to be unfinished.
  void close_above(std::size_t found, Span closer, const std::string& closer_name) {
    while (frames_.size() > found + 1) {
      const Frame frame = frames_.back();
      frames_.pop_back();
      report_unclosed(frame, closer, closer_name);
      if (frame.kind != Kind::proc) orphans_.push_back(frame);
    }
  }

  /// Whether every line from the header to the place is further in than the header: the block may end there.
  bool indented_up_to(Span header, Span at) const {
    const int column = sources_.position(file_, header.begin).column;
    return std::all_of(lines_.begin(), lines_.end(), [&](const Line& line) {
      const std::uint32_t begin = line.tokens.front().begin;
      return begin <= header.begin || begin >= at.begin || sources_.position(file_, begin).column > column;
    });
  }

  void report_unclosed(const Frame& frame, Span at, const std::string& before) {
    const Fix fix{
        fmt::format("insert `{}`", closer_text(frame)),
        {{before.empty() ? Edit::What::line_below : Edit::What::line_above, at, closer_text(frame), frame.header}}};
    emitter_
        .report(Code::E_UNCLOSED, at,
                fmt::format("`{}` is not closed before {}", header_text(frame),
                            before.empty() ? "the end of the file" : "`" + before + "`"),
                fmt::format("`{}` is missing", closer_text(frame)))
        .fix(indented_up_to(frame.header, at) ? fix : offered(fix))  // it may belong further up
        .notes.push_back({frame.header, "it begins here"});
  }

  /// A closer of a block that was given up before says nothing new.
  bool swallow(Kind kind, const std::vector<std::string>& names) {
    for (auto o = orphans_.begin(); o != orphans_.end(); ++o)
      if (o->kind == kind && (names.empty() || o->names.empty() || o->names == names)) {
        orphans_.erase(o);
        return true;
      }
    return false;
  }

  /// Whether the rest of the procedure or program has an end for this loop.
  bool closed_later(const Frame& frame) const {
    int depth = 0;
    for (std::size_t k = at_ + 1; k < lines_.size(); ++k) {
      const LineView view(lines_[k], sources_, file_);
      const int first = view.type(0);
      if (first == L::PROC || first == L::ENDPROC || first == L::ENDSIAL) return false;
      if (first != words(frame.kind).opener && first != words(frame.kind).closer) continue;
      if (!frame.names.empty() && names_in(view) != frame.names) continue;
      depth += first == words(frame.kind).opener ? 1 : -1;
      if (depth < 0) return true;
    }
    return false;
  }

  /// Whether the open procedure has an end of its own further down.
  bool procedure_closed_later() const {
    std::string name;
    for (const Frame& f : frames_)
      if (f.kind == Kind::proc && !f.names.empty()) name = f.names.front();
    for (std::size_t k = at_ + 1; k < lines_.size(); ++k) {
      const LineView view(lines_[k], sources_, file_);
      if (view.type(0) == L::ENDPROC && (name.empty() || view.lower(1) == name)) return true;
    }
    return false;
  }

  void end_of_file() {
    if (phase_ == Phase::after) return;
    if (frames_.empty()) {
      emitter_.report(Code::E_NO_PROGRAM, place(lines_.back()), "the file holds imports and no program");
      return;
    }
    const auto end = static_cast<std::uint32_t>(sources_.text(file_).size());
    const std::uint32_t last = lines_.back().tokens.back().end;
    while (!frames_.empty()) {
      report_unclosed(frames_.back(), {file_, std::min(last, end), std::min(last, end)}, "");
      frames_.pop_back();
    }
  }

  const std::vector<Line>& lines_;
  const SourceManager& sources_;
  const FileId file_;
  Emitter& emitter_;
  const int errors_before_;
  LineProbe probe_;
  Phase phase_ = Phase::before;
  std::vector<Frame> frames_;   // open blocks; the first one is the program
  std::vector<Frame> orphans_;  // given up as unclosed; their ends may still come
  Span first_statement_, end_of_program_;
  std::size_t at_ = 0;
  bool where_possible_ = false;
};

}  // namespace

void diagnose_lines(const std::vector<Line>& lines, const SourceManager& sources, FileId file, Emitter& emitter,
                    ProbeMemo* memo) {
  LineReader(lines, sources, file, emitter, memo).read();
}

}  // namespace sial::parsing
