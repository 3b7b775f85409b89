// Without chemistry: no gradients, and no inputs of QCSchema.

#include "runtime/chemistry/domain/refusal.h"
#include "runtime/program/session/gradient_run.h"
#include "runtime/program/session/schema_run.h"

namespace sial {

struct AtomicInput {
  Job job;
};

void check_gradient(const Job&) { throw needs_chemistry("a gradient"); }
std::string gradient_plan(const Job&) { throw needs_chemistry("a gradient"); }
int run_gradient(Session&, int, const Job&, JobOutcome&, Gradient&) { throw needs_chemistry("a gradient"); }

Captured::Captured() = default;
Captured::~Captured() = default;

SchemaRun::SchemaRun(const std::string&, std::string, std::string, int) { throw needs_chemistry("`--qcschema`"); }
SchemaRun::~SchemaRun() = default;
const Job& SchemaRun::job() const { return input_->job; }
int SchemaRun::finish(int code) { return code; }
void SchemaRun::fail(const std::string&, int) noexcept {}

}  // namespace sial
