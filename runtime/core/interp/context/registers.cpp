#include "runtime/core/interp/context/registers.h"

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/checkpoint/record_file.h"

namespace sial {

Registers::Registers(const RunContext& context)
    : context_(context), index_values_(context.module.indices.size(), unbound_index) {
  initial_values(context.module, context.env.job, ints_, scalars_);
}

void Registers::fail_unbound(IndexId index, Statement here) const {
  const std::string& name = context_.bound.indices[index.at()].name;
  context_.fail(here, fmt::format("index `{}` has no value here: no enclosing loop runs over it", name),
                fmt::format("put the statement, or the call of its procedure, inside `do {0} ... enddo {0}`", name));
}

void Registers::open_index(IndexId index, std::int32_t value) {
  SIAL_CHECK(index_values_[index.at()] == unbound_index, "index {} is in use by an enclosing loop of a verified module",
             context_.bound.indices[index.at()].name);
  index_values_[index.at()] = value;
}

void Registers::write(Packer& packer) const {
  packer.values(ints_);
  packer.values(scalars_);
  packer.values(index_values_);
}

void Registers::read(Unpacker& unpacker, const CheckpointFile& file) {
  auto ints = unpacker.values<std::int32_t>();
  auto scalars = unpacker.values<double>();
  auto index_values = unpacker.values<std::int32_t>();
  if (ints.size() != ints_.size() || scalars.size() != scalars_.size() || index_values.size() != index_values_.size())
    file.fail_damaged("does not fit the program");
  ints_ = std::move(ints);
  scalars_ = std::move(scalars);
  index_values_ = std::move(index_values);
}

}  // namespace sial
