#pragma once
// sialrun --qcschema: a run whose input and output are JSON of MolSSI's QCSchema.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/job/job.h"

namespace sial {

struct AtomicInput;

/// While it is there, what programs and messages print on this rank is kept and not written.
class Captured {
 public:
  Captured();
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string output() const { return out_.str(); }
  std::string messages() const { return err_.str(); }

 private:
  std::ostringstream out_, err_;
  std::streambuf *old_out_, *old_err_;
};

/// One run of --qcschema on this rank. The input is read when it is made, what is wrong with it kept for finish().
class SchemaRun {
 public:
  /// `in`, `out`: paths; "-" or empty: standard input and output. InputError where the input cannot be read at all.
  SchemaRun(const std::string& in, std::string out, std::string version, int ranks);
  ~SchemaRun();

  /// What the input states.
  const Job& job() const;
  /// What is wrong with the input, if anything is.
  const std::optional<InputError>& problem() const { return problem_; }

  /// Of the run, for whoever carries it out.
  std::map<std::string, double> scalars;
  std::optional<std::vector<std::array<double, 3>>> gradient;

  /// Writes the result, or a failed operation where `code` is not 0, and gives the exit code. To be called on one rank.
  int finish(int code);
  /// Writes a failed operation: this rank is about to end the run of all ranks.
  void fail(const std::string& message, int code) noexcept;

 private:
  void write(const std::string& text);

  std::string out_, version_;
  int ranks_;
  std::unique_ptr<AtomicInput> input_;
  std::optional<InputError> problem_;
  std::optional<Captured> captured_;
};

}  // namespace sial
